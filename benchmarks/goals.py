"""Goals for speed and memory, and whether the figures meet them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.exhibits import gained
from benchmarks.measure import Facts
from benchmarks.tables import Table, digits, size

Results = dict[str, Facts]


@dataclass(frozen=True)
class Goal:
    """A limit on one figure of one section."""

    says: str
    section: str
    figure: Callable[[Facts], float | None]
    limit: float
    at_least: bool = False
    shown: Callable[[float], str] = digits

    def row(self, results: Results) -> tuple[str, str, str] | None:
        """The row of the table; None if the figure was not measured or only on little data."""
        facts = results.get(self.section)
        figure = self.figure(facts) if facts and not facts["quick"] else None
        if figure is None:
            return None
        met = figure >= self.limit if self.at_least else figure <= self.limit
        return self.says, self.shown(figure), "yes" if met else "**no**"


def _of_the_script(name: str) -> Callable[[Facts], float | None]:
    def ratio(facts: Facts) -> float | None:
        timings = facts["timings"]
        if name not in timings:
            return None
        return float(timings[name]["median"] / timings[facts["script"]]["median"])

    return ratio


def _of_pipelinedp(facts: Facts) -> float | None:
    return facts["seconds"] / facts["ours"]["median"] if "seconds" in facts else None


def _per_pair(name: str) -> Callable[[Facts], float]:
    return lambda facts: 1e9 * facts["timings"][name]["median"] / facts["pairs"]


def _slower_than_at_ten_million(facts: Facts) -> float | None:
    by_size = {row["pairs"]: row["ns_per_pair"] for row in facts["sizes"]}
    if not {10**7, 10**8} <= by_size.keys():
        return None
    return float(by_size[10**8] / by_size[10**7])


def _with_counts(facts: Facts) -> float:
    timings = facts["timings"]
    return float(timings["1-3-grams with counts"]["median"] / timings["1-3-grams"]["median"])


def _large_text(
    gigabytes: float, items: str, new_users: bool, figure: str
) -> Callable[[Facts], float | None]:
    def found(facts: Facts) -> float | None:
        wanted = (round(gigabytes), items, new_users)
        runs = {(round(run["bytes"] / 1e9), run["items"], run["new_users"]): run for run in facts["runs"]}
        return runs[wanted][figure] if wanted in runs else None

    return found


def _of_reading(facts: Facts) -> float:
    timings = facts["timings"]
    return float(timings["folder"]["median"] / timings["read, folder"]["median"])


def _of_any_files(ours: str, theirs: str) -> Callable[[Facts], float | None]:
    def largest(facts: Facts) -> float | None:
        timings = facts["timings"]
        kinds = [name for name in timings if "," not in name]
        if any(ours + name not in timings for name in kinds):
            return None
        return max(float(timings[ours + name]["median"] / timings[theirs + name]["median"]) for name in kinds)

    return largest


def _peak(pairs: int) -> Callable[[Facts], float | None]:
    return lambda facts: next((row["peak_bytes"] for row in facts["sizes"] if row["pairs"] == pairs), None)


GOALS = (
    Goal(
        "the default takes at most 0.8 of the time of the fastest script",
        "end-to-end",
        _of_the_script("auto"),
        0.8,
    ),
    Goal(
        "Focused Gaussian takes at most 0.8 of the time of the fastest script",
        "end-to-end",
        _of_the_script("focused-gaussian"),
        0.8,
    ),
    Goal(
        "Focused Gaussian is at least 25 times as fast as PipelineDP",
        "pipelinedp",
        _of_pipelinedp,
        25,
        at_least=True,
    ),
    Goal(
        "Policy Gaussian takes at most 1.2 times the time of the script",
        "end-to-end",
        _of_the_script("policy-gaussian"),
        1.2,
    ),
    Goal(
        "a focused round takes at most 5 ns per pair on one core",
        "kernels",
        _per_pair("focused round, the loop alone"),
        5,
    ),
    Goal(
        "a focused round is at least 1.6 times as fast on two cores",
        "kernels",
        lambda facts: gained(facts["timings"], "focused round"),
        1.6,
        at_least=True,
    ),
    Goal("ℓ1-descent takes at most 10 ns per pair", "kernels", _per_pair("ℓ1-descent, the loop alone"), 10),
    Goal("ℓ2-descent takes at most 10 ns per pair", "kernels", _per_pair("ℓ2-descent, the loop alone"), 10),
    Goal(
        "time per pair: 100 million pairs at most 1.3 times 10 million pairs",
        "growth",
        _slower_than_at_ten_million,
        1.3,
    ),
    Goal("100 million pairs of strings fit into 6 GB", "growth", _peak(10**8), 6e9, shown=size),
    Goal("300 million pairs of integers fit into 12 GB", "large", _peak(3 * 10**8), 12e9, shown=size),
    Goal(
        "the first release on a machine takes at most 3 s for compilation",
        "start",
        lambda facts: facts["compiling"]["median"] - facts["compiled"]["median"],
        3,
    ),
    Goal("1 GB of text: words in at most 15 s", "large-text", _large_text(1, "words", True, "median"), 15),
    Goal(
        "1 GB of text: 1-2-grams in at most 40 s",
        "large-text",
        _large_text(1, "1-2-grams", True, "median"),
        40,
    ),
    Goal(
        "5 GB of text by new users fit into 9 GB",
        "large-text",
        _large_text(5, "words", True, "peak_bytes"),
        9e9,
        shown=size,
    ),
    Goal(
        "5 GB of text by the same users again and again fit into 3 GB",
        "large-text",
        _large_text(5, "words", False, "peak_bytes"),
        3e9,
        shown=size,
    ),
    Goal("1-3-grams with counts take at most twice the time without", "text", _with_counts, 2),
    Goal(
        "100 000 small files take at most 1.5 times what Python takes to read them", "files", _of_reading, 1.5
    ),
    Goal(
        "text in any files takes at most 1.5 times what Polars takes to read and count its words",
        "files",
        _of_any_files("", "count, "),
        1.5,
    ),
    Goal(
        "reading text from any files takes at most 1.5 times what Python or Polars takes to read it",
        "files",
        _of_any_files("our read, ", "read, "),
        1.5,
    ),
    Goal("importing takes at most 0.5 s", "start", lambda facts: facts["import"]["median"], 0.5),
)


def goals_table(results: Results) -> Table:
    """The goals that were measured."""
    return Table(("goal", "measured", "met"), [*_rows(results)])


def _rows(results: Results) -> Iterator[tuple[str, str, str]]:
    for goal in GOALS:
        row = goal.row(results)
        if row:
            yield row
