"""Algorithms side by side on public data: how much each releases, how long it takes, and what none can exceed."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.algorithm import Algorithm
from dpsu.algorithms.candidate_list import add_candidates
from dpsu.algorithms.candidates import WithCandidates
from dpsu.algorithms.catalogue import CATALOGUE, NAMED_DEFAULT, find_private
from dpsu.algorithms.mechanism import Mechanism
from dpsu.algorithms.request import Calibration, MaxItems, Request
from dpsu.engines.choose import engine_for
from dpsu.engines.contract import Engine, Rule
from dpsu.errors import InvalidArgument, NotPrivate
from dpsu.hints import known_arguments
from dpsu.privacy.laplace import optimal_single
from dpsu.randomness.stream import open_stream
from dpsu.report.progress import Progress, telling
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source

NOT_PUBLIC = (
    "a comparison spends privacy once per run and shows exact figures, so it is for public or synthetic data only. "
    "If yours is, pass data_is_public=True (--data-is-public); for other data, `dpsu plan` compares what algorithms promise."
)


class Comparison(pl.DataFrame):
    """A frame with one row per epsilon, max_items and algorithm, which can draw itself."""

    def plot(self, path: str | Path | None = None) -> Any:  # type: ignore[override]
        """A figure with a bar per algorithm (matplotlib, the extra `plot`), also saved to `path` if one is given."""
        from dpsu.report.charts import compare_chart

        return compare_chart(self, path)

    def _repr_html_(self, **shown: Any) -> str:
        """For notebooks: bars; a selection of columns is shown as any frame is."""
        from dpsu.report.notebook import comparison_html

        return comparison_html(self) if set(ROW) <= set(self.columns) else super()._repr_html_(**shown)


ROW = ("algorithm", "private", "epsilon", "max_items", "items", "spread", "runs", "seconds", "ceiling")
"""Columns that a notebook shows."""

NO_LIMIT = np.iinfo(np.int32).max


@known_arguments(public="It is called data_is_public now.", algorithm="Give a list: algorithms=[…].")
def compare(
    source: Any = None,
    *,
    epsilon: float | Sequence[float],
    delta: float,
    user: ColumnNames | None = None,
    item: ColumnNames | None = None,
    text: str | bool | None = None,
    ngrams: int | Sequence[int] = 1,
    tokenizer: Tokenizer = "words",
    user_per: UserPer | None = None,
    algorithms: Sequence[str | Algorithm] | None = None,
    runs: int = 3,
    max_items: MaxItems | Sequence[MaxItems] = "auto",
    calibration: Calibration = "exact",
    drop_nulls: bool = False,
    format: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    query: str | None = None,
    data_is_public: bool = False,
    unsafe: bool = False,
    candidates: Any = None,
    false_share: float | None = None,
    discover: bool = True,
    progress: Progress = None,
) -> "Comparison":
    """Run every algorithm several times on the same data and count what it releases; most items first.

    All private algorithms by default; `optimal-single` only with `max_items=1`, which it requires. `epsilon` and `max_items`
    may be lists; then every algorithm runs with every pair of them. By default `auto` chooses its `max_items`, and all
    others have 300, which is what the column has for `auto`, too.

    Only for data that is public or synthetic: you say so with `data_is_public=True`. Without a source it uses the words
    of the bundled arXiv titles, which are public. The frame has a row per epsilon, max_items and algorithm: the mean, the
    standard deviation, the smallest and the largest number of items over all runs, the mean seconds of a run without
    reading, and the ceiling, which no private algorithm exceeds on average at this epsilon, for any max_items. The other
    arguments are those of `release`. With `candidates` there is one row more, focused-gaussian with the list, whose items
    include false ones; the ceiling is not one for listed items.

    >>> import dpsu
    >>> how = {"epsilon": 1, "delta": 1e-6, "runs": 1, "data_is_public": True}
    >>> frame = dpsu.compare({n: ["bread", "milk"] for n in range(1000)}, algorithms=["weighted-gaussian"], **how)
    >>> frame["items"].to_list()
    [2.0]
    """
    if source is None:
        if user is not None or item is not None or text is not None:
            raise InvalidArgument("user, item and text describe the columns of a source: give one.")
        from dpsu.datasets import load

        source, user, text, data_is_public = load("arxiv_titles_small"), "author", "text", True
    if not data_is_public:
        raise NotPrivate(NOT_PUBLIC)
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise InvalidArgument(f"runs must be a whole number of at least 1, not {runs!r}.")
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
    epsilons, limits = _values("epsilon", epsilon), _values("max_items", max_items)
    mechanisms = [
        (request, algorithm, algorithm.calibrate(request))
        for request in (
            Request.asked(each, delta, limit, calibration) for each in epsilons for limit in limits
        )
        for algorithm in _chosen(algorithms, unsafe, request)
    ]
    if candidates is not None or false_share is not None or discover is not True:
        listed, _ = add_candidates(
            find_private(NAMED_DEFAULT), candidates, false_share, discover, described.text
        )
        requests = {request: None for request, *_ in mechanisms}
        mechanisms += [(request, listed, listed.calibrate(request)) for request in requests]
    with engine_for(source, "local") as engine, telling(progress) as tell:
        tell("reading")
        # Digests under one key and the noise of every run under another: they only say which draw belongs to which item.
        stream = open_stream()
        sets = engine.read(described, stream)
        most = {each: ceiling(engine, sets, each, delta) for each in epsilons}
        rows = []
        for request, algorithm, calibrated in mechanisms:
            own = calibrated.admit(engine, sets, stream)
            mechanism, measured = calibrated.fitted(engine, own, stream), []
            for run in range(1, runs + 1):
                limit = "" if limits == ["auto"] else f", max_items {request.max_items}"
                tell(f"{algorithm.name}, epsilon {request.epsilon:g}{limit}, run {run} of {runs}")
                measured.append(_run(engine, own, mechanism))
            rows.append(_row(algorithm, request, measured, most[request.epsilon]))
    found = pl.DataFrame(rows).sort("epsilon", "items", descending=[False, True], maintain_order=True)
    return Comparison(found)


def ceiling(engine: Engine, sets: Any, epsilon: float, delta: float) -> float:
    """The most items that any (epsilon, delta)-private algorithm can release on average, from exact counts.

    The sum over items of pi(holders), pi being the optimal selection for users with one item (docs/optimal-single.md).
    """
    rows = engine.bound(sets, NO_LIMIT, open_stream())
    items = engine.weigh(rows, engine.items(sets), Rule("count_holders", unit=1.0))
    chances = optimal_single(epsilon, delta)
    return float(chances[np.minimum(items["total"], len(chances) - 1)].sum())


def _values(name: str, value: Any) -> list[Any]:
    """The values to sweep, each once; a single value is checked by the request."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    values = list(dict.fromkeys(value))
    if not values:
        raise InvalidArgument(f"{name} must be a number or a list of numbers; the list is empty.")
    return values


def _chosen(algorithms: Sequence[str | Algorithm] | None, unsafe: bool, request: Request) -> list[Algorithm]:
    if algorithms is None:
        private = [name for name, kind in CATALOGUE.items() if kind.private]
        left_out = {"optimal-single"} if request.max_items != 1 else set()
        left_out |= {"auto"} if request.calibration != "exact" else set()
        algorithms = [name for name in private if name not in left_out]
    if isinstance(algorithms, str) or not isinstance(algorithms, Iterable) or not algorithms:
        raise InvalidArgument("algorithms must be a list of names, such as ['weighted-gaussian', 'dp-sips'].")
    return [find_private(name, unsafe) for name in algorithms]


def _run(engine: Engine, sets: Any, mechanism: Mechanism) -> tuple[int, float]:
    """The number of items in one release with randomness of its own, and its seconds."""
    begin = time.perf_counter()
    items = mechanism.select(engine, sets, open_stream())
    released = engine.names(sets, items).height
    return released, time.perf_counter() - begin


def _row(
    algorithm: Algorithm, request: Request, measured: list[tuple[int, float]], most: float
) -> dict[str, Any]:
    counts = np.array([count for count, _ in measured], np.float64)
    return {
        "algorithm": algorithm.name + " with candidates" * isinstance(algorithm, WithCandidates),
        "private": algorithm.private,
        "epsilon": float(request.epsilon),
        "max_items": request.max_items,
        "items": float(counts.mean()),
        "spread": float(counts.std(ddof=1)) if len(counts) > 1 else 0.0,
        "fewest": int(counts.min()),
        "most": int(counts.max()),
        "runs": len(counts),
        "seconds": float(np.mean([seconds for _, seconds in measured])),
        "ceiling": most,
    }
