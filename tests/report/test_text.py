"""What terminals show: whole, within their width, and safe whatever a name holds."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from statements import statement_of

import dpsu
from dpsu.report.text import ledger_table, statement_panel


def render(part: object, width: int = 100) -> str:
    """A rich part as plain text."""
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(part)
    return capture.get()


def test_a_ledger_fits_a_terminal_whatever_its_purposes_hold(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=4, delta=1e-6)
    ledger.record_spending(0.123456, 1.2345e-9, "a purpose [red]with[/] marks \x1b[31m and " + "words " * 20)
    number = ledger.reserve(statement_of("weighted-gaussian", 1.0, 1e-7))
    ledger.note_output(number, Path("a_very_long_name_of_an_output_file_that_goes_on.parquet"), "0" * 64)
    lines = render(ledger_table(ledger), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "\x1b" not in text
    for whole in ("[red]", "0.123456", "1.2345e-09", "left"):
        assert whole in text


def test_names_are_shown_as_they_are() -> None:
    titled = replace(statement_of("weighted-gaussian"), title="[bold]words[/bold] \x1b[31m")
    shown = render(statement_panel(titled, None))
    assert "[bold]words[/bold]" in shown
    assert "\x1b" not in shown


def test_a_statement_says_what_auto_chose() -> None:
    stated = dpsu.release({n: ["a"] for n in range(500)}, epsilon=3, delta=1e-6, algorithm="auto").statement
    assert stated is not None
    chosen = stated.parameters["chosen"]["algorithm"]
    assert chosen != "auto"
    assert chosen in str(stated)
    assert chosen in stated._repr_html_()
