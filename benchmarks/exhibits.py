"""The tables of the page, one per section."""

from collections.abc import Callable

from benchmarks.measure import Facts
from benchmarks.tables import Table, digits, size, spread, timed, whole


def end_to_end(facts: Facts) -> Table:
    """All programs, the fastest first, relative to the fastest script."""
    timings = facts["timings"]
    script = timings[facts["script"]]["median"]
    rows = [
        (
            f"**{name}**" if name in facts["algorithms"] else name,
            *timed(timing),
            digits(timing["median"] / script),
            digits(1e9 * timing["median"] / facts["pairs"]),
            whole(facts["released"][name]) if name in facts["released"] else "",
        )
        for name, timing in sorted(timings.items(), key=lambda entry: entry[1]["median"])
    ]
    headings = (
        "file to items",
        "seconds",
        "minimum",
        "spread",
        "relative to script",
        "ns per pair",
        "items, one run",
    )
    return Table(headings, rows)


def pipelinedp(facts: Facts) -> Table:
    """PipelineDP without and with reading, compared with a whole release."""
    ours = facts["ours"]["median"]
    rows = [("dpsu, Parquet file to items", digits(ours), digits(1e6 * ours / facts["pairs"]), "1")]
    if "seconds" in facts:
        read = facts["seconds"] + facts["reading_seconds"]
        for name, seconds in (("pairs in memory to items", facts["seconds"]), ("CSV file to items", read)):
            per_pair = digits(1e6 * seconds / facts["pairs"])
            rows.append((f"PipelineDP, {name}", digits(seconds), per_pair, digits(seconds / ours)))
    return Table(("", "seconds", "µs per pair", "relative to dpsu"), rows)


def stages(facts: Facts) -> Table:
    """The stages of a release and their shares."""
    total = facts["alone"]["release"]["median"]
    rows = [
        (
            stage,
            digits(1e3 * timing["median"]),
            spread(timing),
            f"{100 * timing['median'] / total:.0f} %",
            digits(1e9 * timing["median"] / facts["pairs"]),
        )
        for stage, timing in facts["stages"].items()
    ]
    everything = facts["alone"]["release"]
    per_pair = digits(1e9 * total / facts["pairs"])
    rows.append(("**all**", digits(1e3 * total), spread(everything), "100 %", per_pair))
    return Table(("stage", "ms", "spread", "share", "ns per pair"), rows)


def kernels(facts: Facts) -> Table:
    """Nanoseconds per pair, and the speed-up of a second core."""
    timings, rows = facts["timings"], []
    for name, timing in timings.items():
        if name.startswith("ceiling"):
            continue
        least, median = (digits(1e9 * timing[which] / facts["pairs"]) for which in ("least", "median"))
        gain = digits(gained(timings, name[: -len(", 2 cores")])) if name.endswith(", 2 cores") else ""
        rows.append((name, median, least, spread(timing), gain))
    rows.append(("limit of the machine", "", "", "", digits(gained(timings, "ceiling"))))
    return Table(("loop", "ns per pair", "minimum", "spread", "speed-up with 2 cores"), rows)


def gained(timings: dict[str, Facts], name: str) -> float:
    """How many times faster two cores are than one."""
    one, two = (timings[f"{name}, {cores}"]["median"] for cores in ("1 core", "2 cores"))
    return float(one / two)


def noise(facts: Facts) -> Table:
    """Draws per second."""
    rounded_by_numpy = facts["timings"]["NumPy, rounded to the grid"]["median"]
    rows = [
        (
            name,
            digits(facts["draws"] / timing["median"] / 1e6),
            spread(timing),
            digits(1e9 * timing["median"] / facts["draws"]),
            digits(rounded_by_numpy / timing["median"]),
        )
        for name, timing in facts["timings"].items()
    ]
    return Table(
        ("Gaussian noise", "million a second", "spread", "ns each", "relative to NumPy, rounded"), rows
    )


def encoding(facts: Facts) -> Table:
    """Reading and numbering."""
    polars = facts["timings"]["Polars, items as Categorical"]["median"]
    rows = [
        (
            name,
            *timed(timing),
            digits(1e9 * timing["median"] / facts["pairs"]),
            digits(timing["median"] / polars),
        )
        for name, timing in facts["timings"].items()
    ]
    return Table(
        ("from the file", "seconds", "minimum", "spread", "ns per pair", "relative to Categorical"), rows
    )


def cores(facts: Facts) -> Table:
    """Selections in memory, one whole release, and the largest speed-up that the machine allows."""
    timings, release = facts["timings"], facts["release"]
    pairs_of = {name: [timings[f"{name}, {n}"] for n in (1, 2)] for name in facts["algorithms"]}
    pairs_of["a whole release, from the file"] = [release["1"], release["2"]]
    pairs_of["limit of the machine"] = [timings[f"ceiling, {n}"] for n in ("1 core", "2 cores")]
    rows = [
        (
            name,
            digits(one["median"]),
            spread(one),
            digits(two["median"]),
            spread(two),
            digits(one["median"] / two["median"]),
        )
        for name, (one, two) in pairs_of.items()
    ]
    return Table(("selection", "s, 1 core", "spread", "s, 2 cores", "spread", "speed-up"), rows)


def growth(facts: Facts) -> Table:
    """Seconds and memory by size."""
    rows = [
        (
            whole(row["pairs"]),
            size(row["file_bytes"]),
            *timed(row),
            digits(row["ns_per_pair"]),
            size(row["peak_bytes"]),
            digits(row["bytes_per_pair"]),
        )
        for row in facts["sizes"]
    ]
    headings = (
        f"pairs of {facts['items']}",
        "files",
        "seconds",
        "minimum",
        "spread",
        "ns per pair",
        "peak memory",
        "bytes per pair",
    )
    return Table(headings, rows)


def start(facts: Facts) -> Table:
    """Import time and the time of the first release."""
    rows = [
        (name, *timed(facts[key]))
        for name, key in (
            ("`import dpsu`", "import"),
            ("import and first use of a name, which loads numba and Polars", "load"),
            ("first release, nothing compiled", "compiling"),
            ("first release, compiled by an earlier process", "compiled"),
        )
    ]
    return Table(("", "seconds", "minimum", "spread"), rows)


def text(facts: Facts) -> Table:
    """Releases of text and what others take to count words, relative to the release of words."""
    timings = facts["timings"]
    rows = [
        (
            f"**{name}**" if name in facts["ours"] else name,
            *timed(timing),
            digits(timing["median"] / timings["words"]["median"]),
            digits(1e9 * timing["median"] / facts["bytes"]),
        )
        for name, timing in sorted(timings.items(), key=lambda entry: entry[1]["median"])
    ]
    return Table(
        ("file of text", "seconds", "minimum", "spread", "relative to words", "seconds per GB"), rows
    )


def large_text(facts: Facts) -> Table:
    """Seconds and memory of large text."""
    rows = [
        (
            size(run["bytes"]),
            run["items"],
            f"{whole(run['users'])}{'' if run['new_users'] else ', the same again and again'}",
            digits(run["median"]),
            size(run["peak_bytes"]),
        )
        for run in facts["runs"]
    ]
    return Table(("text", "items", "users", "seconds", "peak memory"), rows)


def files(facts: Facts) -> Table:
    """Reading and releases from several kinds of files, relative to others' reading, and to reading and counting words."""
    timings, rows = facts["timings"], []
    for name in (name for name in timings if "," not in name):
        kinds = ("read, ", "our read, ", "count, ", "")
        read, ours, counted, released = (timings[f"{kind}{name}"]["median"] for kind in kinds)
        seconds = (*map(digits, (read, ours, counted, released)), spread(timings[name]))
        rows.append((name, *seconds, *map(digits, (ours / read, released / read, released / counted))))
    seconds = ("s to read", "s for dpsu to read", "s to count words", "s to released words", "spread")
    return Table(("files", *seconds, "our reading / reading", "words / reading", "words / counting"), rows)


TABLES: dict[str, Callable[[Facts], Table]] = {
    "end-to-end": end_to_end,
    "pipelinedp": pipelinedp,
    "stages": stages,
    "kernels": kernels,
    "noise": noise,
    "encoding": encoding,
    "cores": cores,
    "growth": growth,
    "large": growth,
    "start": start,
    "text": text,
    "large-text": large_text,
    "files": files,
}
