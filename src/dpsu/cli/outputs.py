"""The outputs of a release: items, statement, report."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpsu.cli.options import AsJson, ListOptions, RecordOptions
from dpsu.cli.paths import STANDARD, require_apart
from dpsu.cli.terminal import errors, say
from dpsu.errors import InvalidArgument


class StyleName(StrEnum):
    """Programs that read a vocabulary."""

    hugging_face = "hugging-face"
    spacy = "spacy"
    fasttext = "fasttext"


STATEMENT_ENDING = ".statement.json"
"""What is added to the name of an output to name its statement."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where items, statement and report go, and how much is printed."""

    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="File for the items: .parquet, .csv, .tsv, .jsonl, .xlsx, .txt; - for standard output.",
        ),
    ]
    statement: Annotated[
        Path | None, typer.Option(help="File for the statement, JSON; default: OUTPUT.statement.json.")
    ] = None
    no_statement: Annotated[bool, typer.Option("--no-statement", help="Write no statement.")] = False
    report: Annotated[Path | None, typer.Option(help="File for a report about the promise, .html.")] = None
    excel: Annotated[bool, typer.Option("--excel", help="Write .csv so that Excel opens it.")] = False
    style: Annotated[
        StyleName | None,
        typer.Option(help="Vocabulary for another program: a .json, .jsonl or .txt file of single words."),
    ] = None
    as_json: AsJson = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and --others.")] = (
        False
    )

    @property
    def silent(self) -> bool:
        """Whether a person reads along."""
        return self.quiet or self.as_json

    @property
    def statement_path(self) -> Path | None:
        """The statement goes beside the items, unless the caller says otherwise."""
        if self.statement is not None or self.no_statement or self.output == STANDARD:
            return self.statement
        return Path(f"{self.output}{STATEMENT_ENDING}")

    def check(
        self,
        inputs: Sequence[str | Path],
        record: RecordOptions,
        lists: ListOptions,
        order: Path | None = None,
        candidates: Path | None = None,
        beside: bool = False,
        tokenizer: str | None = None,
        item: Sequence[str] | None = None,
    ) -> None:
        """Fail before any work if an output cannot be written, or would overwrite an input or another output.

        `tokenizer` is the rule of the text whose words are released, or None for other items, whose columns are `item`.
        """
        from dpsu.outcome import write as out

        if self.no_statement and self.statement is not None:
            raise InvalidArgument("--statement and --no-statement exclude each other.")
        if self.style is not None:
            self._check_style(lists.counted, beside or candidates is not None, tokenizer)
        else:
            out.check_writable(self.output)
        if self.excel:
            out.require_csv(self.output)
        if self.style is None and (self.output == STANDARD or Path(self.output).suffix.lower() == ".txt"):
            self._check_plain_text(lists.counted or beside, candidates is not None, len(item or []) > 1)
        if self.statement_path is not None:
            out.require_folder(self.statement_path)
        written = {"--output": self.output, "--statement": self.statement_path, "--report": self.report}
        used = {
            "--ledger": record.ledger,
            "--public-items": lists.public_items,
            "--exclude": lists.exclude,
            "--order": order,
            "--candidates": candidates,
        }
        require_apart(written, inputs, used)
        if self.report is not None:
            out.require_page(self.report)

    def _check_plain_text(self, counted: bool, listed: bool, composite: bool) -> None:
        """Plain text has one item per line and nothing else."""
        for there, what in (
            (counted, "counts"),
            (listed, "the column 'listed'"),
            (composite, "items of several columns"),
        ):
            if there:
                raise InvalidArgument(
                    f"plain text has no room for {what}; write to .parquet, .csv, .tsv or .jsonl."
                )

    def _check_style(self, counted: bool, beside: bool, tokenizer: str | None) -> None:
        """Whatever a style cannot hold is refused here: after the release the privacy would be spent."""
        from dpsu.outcome.vocabulary import check_style

        check_style(self.output, str(self.style))
        if tokenizer is None:
            raise InvalidArgument("--style is for words of text: dpsu release or ngrams with --text.")
        if self.style == StyleName.hugging_face and tokenizer not in ("words", "whitespace"):
            raise InvalidArgument(
                "a tokenizer of Hugging Face has no counterpart of this rule; use --tokenizer words or whitespace, or "
                "write .txt."
            )
        if beside:
            raise InvalidArgument("--style has no room for sums or the column 'listed'.")
        if self.excel:
            raise InvalidArgument("--style and --excel exclude each other.")
        if counted and self.style == StyleName.hugging_face:
            raise InvalidArgument("a tokenizer has no room for counts; use the style spacy or fasttext.")

    def hand_over(self, result: Any) -> None:
        """Write the items and what was promised, and say so."""
        result.save(self.output, excel=self.excel, style=self.style and self.style.value)
        if result.statement is not None:
            self._write_promise(result)
        elif self.statement is not None or self.report is not None:
            say("nothing is promised, so no statement or report was written")
        if self.as_json:
            summary = {
                "released": len(result),
                "output": self.output,
                "statement": result.statement.to_dict() if result.statement else None,
                "warning": result.warning,
                **({"others": result.others} if result.others else {}),
            }
            to = sys.stderr if self.output == STANDARD else sys.stdout
            print(json.dumps(summary, indent=2, ensure_ascii=False), file=to)
        elif not self.quiet:
            self._tell(result)
        elif result.others:
            _tell_others(result.others)

    def _write_promise(self, result: Any) -> None:
        if self.statement_path is not None:
            result.statement.save(self.statement_path)
        if self.report is not None:
            from dpsu.report.html import write_report

            write_report(result.statement, self.report, released=len(result))

    def _tell(self, result: Any) -> None:
        from dpsu.report.text import statement_panel

        place = "standard output" if self.output == STANDARD else self.output
        say(f"released {len(result):,} item{'' if len(result) == 1 else 's'} to {place}")
        if result.others:
            _tell_others(result.others)
        errors().print(statement_panel(result.statement, result.warning))
        if result.statement is not None and self.statement_path is not None:
            say(f"the statement is in {self.statement_path}")


def _tell_others(others: dict[str, float]) -> None:
    """The numbers about all other items, which no file has: they are printed even if little else is."""
    from dpsu.report.measures import others_in_words

    say(f"all other items: {others_in_words(others)}")
