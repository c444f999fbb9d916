"""`dpsu.ngrams`: words and n-grams in levels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpsu.algorithms.holders import Counts, counting_terms
from dpsu.algorithms.levels import LevelsJob, Method, plan_levels
from dpsu.algorithms.public_items import read_lists
from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.engines.choose import EngineName, Mode, engine_for
from dpsu.hints import known_arguments
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.release import Release
from dpsu.report.progress import Progress
from dpsu.run import Terms, run
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source

NO_SUMS = "Text has no column to sum; it has counts=True."
NO_OTHERS = (
    "Levels have counts only; dpsu.release(text=…, ngrams=(1, 2, 3), others=True) releases all sizes at once."
)


@known_arguments(shares="It is called level_shares now.", sums=NO_SUMS, others=NO_OTHERS)
def ngrams(
    source: Any,
    *,
    epsilon: float,
    delta: float,
    user: ColumnNames | None = None,
    text: str | bool | None = None,
    longest: int = 3,
    max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
    level_shares: Sequence[float] | None = None,
    method: Method = "focused-gaussian",
    false_share: float | None = None,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
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
) -> Release:
    """Release words and n-grams of up to `longest` words, level by level, under one (epsilon, delta).

    An n-gram can be released only if its first and its last n-1 words are. At most `max_items` n-grams of a user count
    in a level; a list has one number per level. `level_shares` divides the budget between levels; the default is evenly.
    "focused-gaussian" releases only what somebody wrote, unless `false_share` is given: then the n-grams that are made of
    released parts are candidates, and more of them come out. On average at most `false_share` of the released n-grams of
    several words are ones that nobody wrote. The method "dpne" releases some of those, too, without a limit on their share.
    The source and the other arguments are those of `release`.

    >>> import dpsu
    >>> texts = {f"user {n}": ["good morning to all of you"] for n in range(1000)}
    >>> dpsu.ngrams(texts, longest=2, epsilon=1, delta=1e-6).items[:4]
    ['all', 'all of', 'good', 'good morning']
    """
    counting = counting_terms(counts)
    levels, counting_of_all = plan_levels(
        Request(epsilon, delta), longest, max_items, level_shares, method, counting, false_share
    )
    described = Source.of(
        source,
        user=user,
        text=text if user_per else text or True,
        ngrams=[*range(1, longest + 1)],
        tokenizer=tokenizer,
        user_per=user_per,
        drop_nulls=drop_nulls,
        format=format,
        encoding=encoding,
        separator=separator,
        sheet=sheet,
        query=query,
    )
    assert described.text is not None
    lists = read_lists(public_items, exclude, described.text)
    job = LevelsJob(levels, described.text, counting_of_all, false_share)
    return run(
        job,
        described,
        engine_for(source, engine, spark_mode),
        Terms(ledger, lists, title, note, check_user, progress),
    )
