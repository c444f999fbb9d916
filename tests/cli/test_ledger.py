"""The ledger on the command line."""

import json
from pathlib import Path

import pytest
from rows_command import COLUMNS, run
from statements import statement_of

import dpsu
from dpsu.errors import InvalidArgument, LedgerError

pytestmark = pytest.mark.usefixtures("rows")


def test_the_ledger_counts_what_was_spent_elsewhere() -> None:
    assert run("ledger", "create", "spent.db", "--epsilon", "4", "--delta", "1e-6").exit_code == 0
    statement_of("weighted-gaussian", 1.0, 1e-7).save("theirs.json")
    spent = ["--epsilon", "1", "--delta", "1e-7"]
    assert run("ledger", "record", "spent.db", *spent, "--purpose", "histogram").exit_code == 0
    assert run("ledger", "record", "spent.db", "theirs.json", "--purpose", "partners").exit_code == 0
    tuning = [
        "--max-items",
        "2",
        "--max-items",
        "3",
        "--epsilon",
        "1",
        "--delta",
        "1e-7",
        "--title",
        "tuned words",
    ]
    tuned = run(
        "tune", "rows.csv", *COLUMNS, *tuning, "-o", "words.csv", "--ledger", "spent.db", "--report", "r.html"
    )
    assert tuned.exit_code == 0, tuned.output
    shown = json.loads(run("ledger", "show", "spent.db", "--json").stdout)
    assert [entry["purpose"] for entry in shown["releases"]] == ["histogram", "partners", "tuned words"]
    assert shown["releases"][2]["output"] == "words.csv"
    assert 0 < shown["spent"]["epsilon_left"] < 2
    too_much = run("ledger", "record", "spent.db", "--epsilon", "9", "--delta", "0", "--purpose", "too much")
    assert isinstance(too_much.exception, LedgerError)
    table = run("ledger", "show", "spent.db").stdout
    assert all(word in table for word in ("histogram", "words.csv", "left"))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--epsilon", "1", "--purpose", "x"],
        ["--delta", "1e-7", "--purpose", "x"],
        ["--epsilon", "1", "--delta", "1e-7"],
        ["theirs.json", "--epsilon", "1", "--delta", "1e-7", "--purpose", "x"],
        ["theirs.json", "--epsilon", "1", "--purpose", "x"],
    ],
)
def test_what_to_record_must_be_clear(arguments: list[str]) -> None:
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-6)
    statement_of("weighted-gaussian", 1.0, 1e-7).save("theirs.json")
    assert isinstance(run("ledger", "record", "spent.db", *arguments).exception, InvalidArgument)
    assert ledger.entries() == []


def test_a_statement_that_was_changed_is_not_recorded() -> None:
    """The file is what is verified: its digest, too."""
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-6)
    stated = statement_of("weighted-gaussian", 1.0, 1e-7).to_dict()
    Path("theirs.json").write_text(json.dumps({**stated, "digest": "0" * 64}))
    assert isinstance(run("ledger", "record", "spent.db", "theirs.json").exception, LedgerError)
    assert ledger.entries() == []


def test_promises_about_periods_are_shown_with_them() -> None:
    ledger = dpsu.Ledger.create("spent.db", epsilon=4, delta=1e-5)
    users = {n: ["bread"] for n in range(500)}
    for period, epsilon in (("2026-01", 1.0), ("2026-02", 1.5)):
        dpsu.release(users, epsilon=epsilon, delta=1e-6, period=period, ledger=ledger)
    dpsu.release(users, epsilon=1, delta=1e-6, ledger=ledger)
    shown = json.loads(run("ledger", "show", "spent.db", "--json").stdout)
    assert [entry["period"] for entry in shown["releases"]] == ["2026-01", "2026-02", None]
    by_period = shown["spent"]["epsilon_by_period"]
    assert by_period["2026-01"] < by_period["2026-02"] == shown["spent"]["epsilon"] < 3.5
    assert "2026-02" in run("ledger", "show", "spent.db").stdout
