"""`make paper`: all tables and figures of the paper, into docs/paper/. A killed run continues where it was."""

import argparse
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.paper import tuning
from experiments.paper.data import REDDIT, corpora
from experiments.paper.exhibits import all_cells
from experiments.paper.facts import facts_of
from experiments.paper.page import write_page
from experiments.paper.runs import Results, run_missing

ROOT = Path(__file__).parents[2]
RUNS = ROOT / ".paper"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the users, into .paper/quick")
    parser.add_argument("--output", type=Path, help="where tables and figures go")
    parser.add_argument("--again", action="store_true", help="forget earlier runs")
    asked = parser.parse_args()
    kept = RUNS / ("quick.jsonl" if asked.quick else "full.jsonl")
    if asked.again:
        kept.unlink(missing_ok=True)
    output = asked.output or (RUNS / "quick" if asked.quick else ROOT / "docs" / "paper")
    results, sources = Results(kept), corpora(asked.quick)
    cells, trials = all_cells(), tuning.trials(asked.quick)
    done = sum(entry.key in results for entry in (*cells, *trials))
    columns = (TextColumn("{task.description:60.60}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        task = progress.add_task("", total=len(cells) + len(trials), completed=done)

        def tell(what: str, advance: int) -> None:
            progress.update(task, description=what, advance=advance)

        run_missing(cells, sources, results, tell)
        tuning.run_missing(asked.quick, results, tell)
        tell("tables and figures", 0)
        facts = facts_of(sources[REDDIT].read())
        write_page(output, asked.quick, results, facts, sources)
    print(f"written to {output.relative_to(ROOT) if output.is_relative_to(ROOT) else output}")


if __name__ == "__main__":
    main()
