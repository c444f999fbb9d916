"""`dpsu demo`: the words of the bundled titles."""

from typing import Annotated

import typer

import dpsu
from dpsu.cli.terminal import notes, stages
from dpsu.privacy import advice

OWN = """    dpsu release posts.parquet --user author --text body \\
      --epsilon 1 --delta 1e-7 -o words.txt"""


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy loss of the demonstration.")] = 3.0,
    delta: Annotated[float, typer.Option(help=f"The delta: {advice.DELTA}.")] = 1e-7,
) -> None:
    """Release the words of bundled arXiv titles. They are the titles of 25,000 authors."""
    from rich.console import Console

    from dpsu.report.plan import chance_chart
    from dpsu.report.text import in_columns, statement_panel

    console = Console(highlight=False)
    frame = dpsu.datasets.load("arxiv_titles_small")
    with stages(quiet=False) as progress, notes(quiet=False):
        result = dpsu.release(
            frame, user="author", text="text", epsilon=epsilon, delta=delta, progress=progress
        )
        made = dpsu.plan(epsilon=epsilon, delta=delta)
    console.print(
        f"\nReleased {len(result):,} words that many of the authors share. A sample:\n",
        markup=False,
    )
    console.print(in_columns(result.items[:: max(1, len(result) // 60)], console.width), markup=False)
    console.print()
    console.print(statement_panel(result.statement, result.warning))
    console.print()
    console.print(chance_chart(made, set_size=10), markup=False)
    console.print(f"\nOn a table of your own:\n\n{OWN}", markup=False)
