"""What a release writes: items, statement, report."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsu.cli.paths import STANDARD, require_apart
from dpsu.cli.terminal import errors
from dpsu.errors import InvalidArgument

STATEMENT_ENDING = ".statement.json"
"""What is added to the name of an output to name its statement."""


@dataclass(frozen=True)
class Outputs:
    """Where everything goes. `asked` says whether somebody asked for a statement or a report by its path."""

    items: str
    statement: Path | None = None
    report: Path | None = None
    asked: bool = False

    @classmethod
    def of(cls, items: str, statement: Path | None, no_statement: bool, report: Path | None) -> "Outputs":
        """What the options mean: without a word about the statement, it goes beside the items."""
        if no_statement and statement is not None:
            raise InvalidArgument("--statement and --no-statement exclude each other.")
        asked = statement is not None or report is not None
        if statement is None and not no_statement and items != STANDARD:
            statement = Path(f"{items}{STATEMENT_ENDING}")
        return cls(items, statement, report, asked)

    def check(
        self,
        inputs: Sequence[str | Path],
        others: dict[str, Path | None] | None = None,
        *,
        counts: bool = False,
    ) -> None:
        """Fail now if what is to be written cannot be, or would overwrite what is read or used."""
        from dpsu import output as out

        out.check_writable(self.items)
        if counts and (self.items == STANDARD or Path(self.items).suffix.lower() == ".txt"):
            raise InvalidArgument(
                "plain text has no room for counts; write them to .parquet, .csv, .tsv or .jsonl."
            )
        for path in (self.statement, self.report):
            if path is not None:
                out.require_folder(path)
        written = {"--output": self.items, "--statement": self.statement, "--report": self.report}
        require_apart(written, inputs, others)

    def hand_over(self, result: Any, *, as_json: bool, quiet: bool) -> None:
        """Write the items and what was promised, and say so."""
        result.save(self.items)
        if result.statement is not None:
            self._write_promise(result)
        elif self.asked:
            errors.print("nothing is promised, so no statement or report was written", markup=False)
        if as_json:
            summary = {
                "released": len(result),
                "output": self.items,
                "statement": result.statement.to_dict() if result.statement else None,
                "warning": result.warning,
            }
            to = sys.stderr if self.items == STANDARD else sys.stdout
            print(json.dumps(summary, indent=2, ensure_ascii=False), file=to)
        elif not quiet:
            self._tell(result)

    def _write_promise(self, result: Any) -> None:
        if self.statement is not None:
            result.statement.save(self.statement)
        if self.report is not None:
            from dpsu.report.html import write_report

            write_report(result.statement, self.report, released=len(result))

    def _tell(self, result: Any) -> None:
        from dpsu.report.text import statement_panel

        place = "standard output" if self.items == STANDARD else self.items
        errors.print(f"released {len(result):,} items to {place}", markup=False, soft_wrap=True)
        errors.print(statement_panel(result.statement, result.warning))
        if result.statement is not None and self.statement is not None:
            errors.print(f"the statement is in {self.statement}", markup=False, soft_wrap=True)
