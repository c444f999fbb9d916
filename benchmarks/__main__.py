"""`make bench`: speed and memory as ratios in one run. Figures go to docs/performance/, the page to docs/performance.md."""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import cores, end_to_end, growth, kernels, results, settings, stages, start, text
from benchmarks.corpus import Corpus
from benchmarks.exhibits import TABLES
from benchmarks.measure import Facts
from benchmarks.page import write_page
from benchmarks.settings import Settings

ROOT = Path(__file__).parents[1]

SECTIONS: dict[str, Callable[[Settings, Corpus], Facts]] = {
    "end-to-end": end_to_end.measure,
    "pipelinedp": end_to_end.measure_pipelinedp,
    "stages": stages.measure,
    "kernels": kernels.measure,
    "noise": kernels.measure_noise,
    "encoding": kernels.measure_encoding,
    "cores": cores.measure,
    "growth": growth.measure,
    "large": growth.measure_large,
    "start": start.measure,
    "text": text.measure,
    "large-text": text.measure_large,
    "files": text.measure_files,
}


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    output = asked.output or (ROOT / "build" / "bench" if asked.quick else ROOT / "docs")
    with tempfile.TemporaryDirectory(prefix="dpsu-bench-") as scratch:
        scale = _settings(asked, Path(scratch))
        corpus = Corpus(scale.scratch, scale.users)
        chosen = asked.only or [name for name in SECTIONS if name != "large" or asked.large is not None]
        for name in chosen:
            begin = time.perf_counter()
            print(f"{name} …", flush=True)
            facts = SECTIONS[name](scale, corpus)
            results.store(output / "performance" / "results.json", name, facts, scale)
            print(
                TABLES[name](facts).markdown(), f"{time.perf_counter() - begin:.0f} s", sep="\n\n", end="\n\n"
            )
    write_page(output, results.load(output / "performance" / "results.json"))
    print(f"written to {output / 'performance.md'}")


def _settings(asked: argparse.Namespace, scratch: Path) -> Settings:
    quick = asked.quick
    return Settings(
        users=asked.users or (settings.QUICK_USERS if quick else settings.USERS),
        repetitions=asked.repetitions or (settings.QUICK_REPETITIONS if quick else settings.REPETITIONS),
        pairs=tuple(asked.pairs or (settings.QUICK_SIZES if quick else settings.SIZES)),
        large=tuple(asked.large or (settings.QUICK_LARGE if quick else settings.LARGE)),
        scratch=scratch,
        quick=quick,
        titles=asked.titles,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run, into build/bench")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), metavar="NAME", help=", ".join(SECTIONS))
    parser.add_argument(
        "--large", type=_whole, nargs="*", metavar="PAIRS", help="integers as well, 300 million pairs"
    )
    parser.add_argument("--repetitions", type=int, help=f"{settings.REPETITIONS} unless said otherwise")
    parser.add_argument("--pairs", type=_whole, nargs="+", help="sizes of the growth, such as 1e6 1e7")
    parser.add_argument("--users", type=int, help="of the corpus of all other sections")
    parser.add_argument("--titles", type=Path, help="Parquet file (author, text) for the sections of text")
    parser.add_argument("--output", type=Path, help="where the page and its figures go")
    return parser


def _whole(text: str) -> int:
    return int(float(text))


if __name__ == "__main__":
    main()
