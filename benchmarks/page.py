"""Write docs/performance.md: text and tables with the numbers of the results."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import plots, prose
from benchmarks.exhibits import TABLES
from benchmarks.goals import Results, goals_table
from benchmarks.measure import Facts
from benchmarks.quiet import QUIET, TRIES
from benchmarks.settings import DELTA, EPSILON, MAX_ITEMS
from benchmarks.stages import BOUND, CALIBRATE, COMPACT, ENCODE, SORT, UPDATE, WEIGH
from benchmarks.tables import digits, size, whole


def write_page(folder: Path, results: Results) -> None:
    """Write the page and its figures for the measured sections."""
    pictures = folder / "performance"
    pictures.mkdir(parents=True, exist_ok=True)
    sections = [_introduction(results)]
    for name, section in SECTIONS.items():
        if name in results:
            sections.append(section(results))
    if "end-to-end" in results:
        plots.draw_end_to_end(results["end-to-end"], pictures / "end-to-end.svg")
    if "growth" in results:
        plots.draw_growth(results["growth"], results.get("large"), pictures / "growth.svg")
    (folder / "performance.md").write_text("\n\n".join(sections) + "\n")


def _introduction(results: Results) -> str:
    machines = {_machine(facts["machine"]): None for facts in results.values()}
    parts = [
        prose.INTRODUCTION.format(
            machine="Measured with " + "; and ".join(machines) + ".",
            epsilon=EPSILON,
            delta=DELTA,
            max_items=MAX_ITEMS,
            repetitions=", ".join(f"{_repetitions(facts)} ({name})" for name, facts in results.items()),
            quiet=100 * QUIET,
            tries=TRIES,
            stolen=", ".join(
                f"{100 * max(_all(facts, 'stolen')):.0f} % ({name})" for name, facts in results.items()
            ),
        )
    ]
    if any(facts["quick"] for facts in results.values()):
        parts.append(prose.QUICK)
    goals = goals_table(results)
    if goals.rows:
        parts.append("## Goals\n\n" + goals.markdown())
    return "\n\n".join(parts)


def _machine(facts: Facts) -> str:
    return (
        f"{facts['cores']} core{'s' * (facts['cores'] > 1)} of {facts['processor']}, {size(facts['memory_bytes'])} of "
        f"memory, Python {facts['python']}, numba {facts['numba']}, NumPy {facts['numpy']}, Polars {facts['polars']}"
    )


def _repetitions(facts: Facts) -> str:
    """The smallest and largest number of repetitions in a section."""
    found = sorted(_all(facts, "repetitions"))
    return f"{found[0]}" if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def _all(facts: Any, name: str) -> Iterator[Any]:
    """All figures of this name in a section."""
    if isinstance(facts, dict):
        if name in facts:
            yield facts[name]
        facts = list(facts.values())
    if isinstance(facts, list):
        for part in facts:
            yield from _all(part, name)


def _end_to_end(results: Results) -> str:
    facts = results["end-to-end"]
    seconds = {name: timing["median"] for name, timing in facts["timings"].items()}
    return prose.END_TO_END.format(
        pairs=whole(facts["pairs"]),
        users=whole(facts["users"]),
        script=facts["script"].removeprefix("Polars script, "),
        table=TABLES["end-to-end"](facts).markdown(),
        max_items=MAX_ITEMS,
        auto_of_script=digits(seconds["auto"] / seconds[facts["script"]]),
        of_script=digits(seconds["focused-gaussian"] / seconds[facts["script"]]),
        of_bare=digits(seconds["focused-gaussian"] / seconds["bare count"]),
    )


def _pipelinedp(results: Results) -> str:
    facts = results["pipelinedp"]
    if "absent" in facts:
        return prose.ABSENT.format(absent=facts["absent"])
    table = TABLES["pipelinedp"](facts).markdown()
    return prose.PIPELINEDP.format(table=table, version=facts["version"], pairs=whole(facts["pairs"]))


def _stages(results: Results) -> str:
    facts = results["stages"]
    spent = {stage: 1e3 * timing["median"] for stage, timing in facts["stages"].items()}
    alone = {name: 1e3 * timing["median"] for name, timing in facts["alone"].items()}
    one_pass = spent[WEIGH] / facts["rounds"]
    limit = alone["read and encode"] + one_pass
    more = spent[ENCODE] - alone["read and encode"]
    return prose.STAGES.format(
        pairs=whole(facts["pairs"]),
        rounds=facts["rounds"],
        table=TABLES["stages"](facts).markdown(),
        read=digits(alone["read"]),
        encode=digits(alone["read and encode"]),
        one_pass=digits(one_pass),
        limit=digits(limit),
        far=digits(alone["release"] / limit),
        more=digits(abs(more)),
        direction="more" if more > 0 else "less",
        cutting=digits(spent[BOUND] + spent.get(COMPACT, 0.0)),
        calibrating=CALIBRATE,
        encoding=ENCODE,
        sorting=SORT,
        bounding=BOUND,
        compacting=COMPACT,
        weigh=WEIGH,
        updating=UPDATE,
    )


def _kernels(results: Results) -> str:
    facts = results["kernels"]
    return prose.KERNELS.format(
        pairs=whole(facts["pairs"]), in_a_row=facts["in_a_row"], table=TABLES["kernels"](facts).markdown()
    )


def _noise(results: Results) -> str:
    facts = results["noise"]
    return prose.NOISE.format(draws=whole(facts["draws"]), table=TABLES["noise"](facts).markdown())


def _encoding(results: Results) -> str:
    return prose.ENCODING.format(table=TABLES["encoding"](results["encoding"]).markdown())


def _cores(results: Results) -> str:
    facts = results["cores"]
    return prose.CORES.format(pairs=whole(facts["pairs"]), table=TABLES["cores"](facts).markdown())


def _growth(results: Results) -> str:
    facts = results["growth"]
    first, last = facts["sizes"][0], facts["sizes"][-1]
    tables = [TABLES[name](results[name]).markdown() for name in ("growth", "large") if name in results]
    return prose.GROWTH.format(
        tables="\n\n".join(tables),
        first=whole(first["pairs"]),
        last=whole(last["pairs"]),
        ns_first=digits(first["ns_per_pair"]),
        ns_last=digits(last["ns_per_pair"]),
        bytes_first=digits(first["bytes_per_pair"]),
        bytes_last=digits(last["bytes_per_pair"]),
    )


def _start(results: Results) -> str:
    return prose.START.format(table=TABLES["start"](results["start"]).markdown())


def _text(results: Results) -> str:
    facts = results["text"]
    return prose.TEXT.format(
        megabytes=digits(facts["bytes"] / 1e6),
        texts=whole(facts["texts"]),
        users=whole(facts["users"]),
        table=TABLES["text"](facts).markdown(),
    )


def _large_text(results: Results) -> str:
    return prose.LARGE_TEXT.format(table=TABLES["large-text"](results["large-text"]).markdown())


def _files(results: Results) -> str:
    facts = results["files"]
    return prose.FILES.format(
        files=whole(facts["files"]),
        texts=whole(facts["texts"]),
        table=TABLES["files"](facts).markdown(),
    )


SECTIONS: dict[str, Callable[[Results], str]] = {
    "end-to-end": _end_to_end,
    "pipelinedp": _pipelinedp,
    "stages": _stages,
    "kernels": _kernels,
    "noise": _noise,
    "encoding": _encoding,
    "cores": _cores,
    "growth": _growth,
    "start": _start,
    "text": _text,
    "large-text": _large_text,
    "files": _files,
}
