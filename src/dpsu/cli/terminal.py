"""What the commands say and write."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

import dpsu
from dpsu.errors import InvalidArgument

errors = Console(stderr=True, highlight=False)


@contextmanager
def stages(quiet: bool) -> Iterator[Any]:
    """Shows which stage runs, on standard error; stages are public."""
    if quiet or not errors.is_terminal:
        yield None
        return
    with errors.status("starting") as status:
        yield lambda stage: status.update(stage)


@contextmanager
def notes(quiet: bool) -> Iterator[None]:
    """Shows warnings as notes, on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", dpsu.EmptyRelease)
        yield
    for note in caught:
        if not quiet:
            errors.print(f"note: {note.message}", markup=False, soft_wrap=True)


def check_outputs(
    output: str, statement: Path | None, report: Path | None = None, counts: bool = False
) -> None:
    """Fail now if what is to be written cannot be."""
    from dpsu import output as out

    out.check_writable(output)
    if counts and (output == "-" or Path(output).suffix.lower() == ".txt"):
        raise InvalidArgument(
            "plain text has no room for counts; write them to .parquet, .csv, .tsv or .jsonl."
        )
    for path in (statement, report):
        if path is not None:
            out.require_folder(path)


def hand_over(
    result: Any, output: str, statement: Path | None, as_json: bool, quiet: bool, report: Path | None = None
) -> None:
    """Write the items and what was promised, and say so."""
    result.save(output)
    stated = result.statement
    if stated is not None:
        stated = stated if output == "-" else stated.about(output)
        if statement is not None:
            stated.save(statement)
        if report is not None:
            from dpsu.report.html import write_report

            write_report(stated, report, released=len(result))
    elif statement is not None or report is not None:
        errors.print("nothing is promised, so no statement or report was written", markup=False)
    if as_json:
        to_standard_output = output == "-"
        summary = {
            "released": len(result),
            "output": output,
            "statement": stated.to_dict() if stated else None,
            "warning": result.warning,
        }
        print(
            json.dumps(summary, indent=2, ensure_ascii=False),
            file=sys.stderr if to_standard_output else sys.stdout,
        )
    elif not quiet:
        from dpsu.report.text import statement_panel

        errors.print(
            f"released {len(result):,} items to {output if output != '-' else 'standard output'}",
            markup=False,
        )
        errors.print(statement_panel(stated, result.warning))
