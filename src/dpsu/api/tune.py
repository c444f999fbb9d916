"""`dpsu.tune`: choose a setting privately, and release with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsu.algorithms.holders import Counts, counting_terms
from dpsu.algorithms.public_items import read_lists
from dpsu.algorithms.request import Request
from dpsu.algorithms.tuning import Candidate, Method, Setting, TuneBySelection, TuneJob, TuneOnPart
from dpsu.engines.choose import EngineName, Mode, engine_for
from dpsu.errors import InvalidArgument
from dpsu.hints import known_arguments
from dpsu.outcome.columns import require_free
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.release import Release
from dpsu.report.progress import Progress
from dpsu.run import Terms, run
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source

ONLY_RELEASE = (
    "Sums and others are for dpsu.release: pass it the setting that was chosen, with a budget of its own."
)
PART_OF_SETTING = "It is part of a setting: settings=[{'max_items': 30}, {'max_items': 300}]."


@dataclass(frozen=True)
class Tuned:
    """The chosen setting, and the release made with it.

    `scores` are the sizes of the private releases on the tuning part, one per setting. Private selection may not show
    them: `scores` is None.

    >>> import dpsu
    >>> baskets = {f"user {n}": ["bread", "milk"] for n in range(10_000)}
    >>> dpsu.tune(baskets, settings=[{"max_items": 2}], epsilon=1, delta=1e-6).setting
    {'max_items': 2}
    """

    setting: dict[str, Any]
    scores: list[int] | None
    release: Release


@known_arguments(
    way="It is called method now.",
    share="It is called tuning_share now.",
    sums=ONLY_RELEASE,
    others=ONLY_RELEASE,
    max_items=PART_OF_SETTING,
    algorithm=PART_OF_SETTING,
    calibration=PART_OF_SETTING,
)
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
    method: Method = "part",
    tuning_share: float = 0.1,
    tries: float = 4.0,
    drop_nulls: bool = False,
    format: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    query: str | None = None,
    public_items: Any = None,
    exclude: Any = None,
    counts: bool | Counts = False,
    ledger: Ledger | str | Path | None = None,
    title: str | None = None,
    note: str | None = None,
    check_user: bool = True,
    engine: EngineName | None = None,
    spark_mode: Mode | None = None,
    progress: Progress = None,
) -> Tuned:
    """Choose among `settings` and release with the best, the whole (epsilon, delta)-private for every user.

    A setting has the keys "algorithm", "max_items" and "calibration", each as in `release`: {"max_items": 100},
    {"algorithm": dpsu.PolicyGaussian(alpha=2)}. With the method "part", every user goes to the tuning part with probability
    `tuning_share`; all settings are tried there, and the other users' items are released with the best. With "selection",
    settings drawn at random are tried on all users, `tries` times on average, and the largest release is the output; it
    needs algorithms with Gaussian noise. The source and the other arguments are those of `release`. Both methods cost more
    than a good default loses: docs/tuning.md has the figures.

    >>> import dpsu
    >>> baskets = {f"user {n}": ["bread", "milk"] for n in range(10_000)}
    >>> dpsu.tune(baskets, settings=[{"max_items": 2}, {"max_items": 20}], epsilon=1, delta=1e-6).release.items
    ['bread', 'milk']
    """
    if method not in ("part", "selection"):
        raise InvalidArgument(f"method must be 'part' or 'selection', not {method!r}.")
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
        encoding=encoding,
        separator=separator,
        sheet=sheet,
        query=query,
    )
    if counts and method == "selection":
        raise InvalidArgument("private selection has no share for counts: tune on a part (method='part').")
    if counts:
        require_free(described.item_columns, {})
    request, candidates = Request(epsilon, delta), [Candidate.of(setting) for setting in settings]
    where = engine_for(source, engine, spark_mode)
    candidates = [candidate.for_engine(where.parts) for candidate in candidates]
    job: TuneJob = (
        TuneOnPart(request, candidates, tuning_share, counting_terms(counts))
        if method == "part"
        else TuneBySelection(request, candidates, tries)
    )
    lists = read_lists(public_items, exclude, described.text)
    terms = Terms(ledger, lists, title, note, check_user, progress)
    made = run(job, described, where, terms)
    return Tuned(job.setting, job.scores, made)
