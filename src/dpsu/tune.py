"""`dpsu.tune`: choose a setting privately, and release with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsu.algorithms.counts import CountingTerms
from dpsu.algorithms.request import Request
from dpsu.algorithms.tuning import Candidate, Setting, TuneBySelection, TuneJob, TuneOnPart, Way
from dpsu.engines import engine_for
from dpsu.errors import InvalidArgument
from dpsu.ledger import Ledger
from dpsu.listed import read_lists
from dpsu.result import Release
from dpsu.run import Terms, run
from dpsu.sets import ColumnNames, Tokenizer, UserPer
from dpsu.sources import Source


@dataclass(frozen=True)
class Tuned:
    """The chosen setting, and the release made with it.

    `scores` are the sizes of the private releases that the settings were tried with, in their order; private selection
    may not show them and has none.
    """

    setting: dict[str, Any]
    scores: list[int] | None
    release: Release


def tune(
    source: Any,
    *,
    settings: Sequence[Setting],
    epsilon: float,
    delta: float,
    user: ColumnNames | None = None,
    item: ColumnNames | None = None,
    text: str | bool | None = None,
    ngrams: int | Sequence[int] = 1,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
    way: Way = "part",
    share: float = 0.1,
    tries: float = 4.0,
    drop_nulls: bool = False,
    format: str | None = None,
    public_items: Any = None,
    exclude: Any = None,
    counts: bool = False,
    ledger: Ledger | str | Path | None = None,
    title: str | None = None,
    note: str | None = None,
    check_user: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Tuned:
    """Choose among `settings` and release with the best, the whole (epsilon, delta)-private for every user.

    A setting is what `release` takes: {"max_items": 100}, {"algorithm": "policy-gaussian", "alpha": 2}. With the way
    "part", every user goes to the tuning part with probability `share`; all settings are tried there, and the others'
    items are released with the best. With "selection", settings drawn at random are tried on all users, `tries` times on
    average, and the largest release leaves; it needs algorithms with Gaussian noise. The source and the other arguments
    are those of `release`. Either way costs more than a good default gives away: docs/tuning.md has the figures.
    """
    if way not in ("part", "selection"):
        raise InvalidArgument(f"way must be 'part' or 'selection', not {way!r}.")
    if isinstance(settings, Mapping | str) or not settings:
        raise InvalidArgument("settings must be a list, such as [{'max_items': 30}, {'max_items': 300}].")
    described = Source.of(
        source,
        user=user,
        item=item,
        text=text,
        ngrams=ngrams,
        tokenizer=tokenizer,
        user_per=user_per,
        drop_nulls=drop_nulls,
        format=format,
    )
    if counts and way == "selection":
        raise InvalidArgument("private selection has no share for counts: tune on a part (way='part').")
    request, candidates = Request(epsilon, delta), [Candidate.of(setting) for setting in settings]
    job: TuneJob = (
        TuneOnPart(request, candidates, share, CountingTerms() if counts else None)
        if way == "part"
        else TuneBySelection(request, candidates, tries)
    )
    lists = read_lists(public_items, exclude, described.text)
    terms = Terms(ledger, lists, title, note, check_user, progress)
    made = run(job, described, engine_for(source, "local"), terms)
    return Tuned(job.setting, job.scores, made)
