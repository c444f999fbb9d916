"""Progress: public stages alone, as a bar or to a function."""

import io
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from rich.console import Console

import dpsu
from dpsu.report.progress import share_of, telling, terminal_bar
from dpsu.testing import seeded

DATA = {n: ["a", "b"] for n in range(400)}


def test_stages_only_move_forward() -> None:
    for run in (
        ["reading", "weighing and deciding", "decoding"],
        ["reading", "level 1 of 3", "level 2 of 3", "level 3 of 3", "decoding"],
        ["reading", "setting 1 of 2", "setting 2 of 2"],
        ["reading", "round 1 of 3", "round 2 of 3", "round 3 of 3", "decoding"],
    ):
        shares = [share_of(stage) for stage in run]
        assert shares == sorted(set(shares))
        assert shares[0] == 0
        assert shares[-1] < 1


@pytest.mark.parametrize("data", [DATA, {n: [f"{n}", "c", "d", "e"] for n in range(900)}])
@pytest.mark.parametrize(
    ("algorithm", "rounds"),
    [("weighted-gaussian", 0), ("mad2r", 0), ("dp-sips", 3), (dpsu.FocusedGaussian(rounds=4), 4)],
)
def test_what_is_told_does_not_depend_on_the_data(
    data: dict[int, list[str]], algorithm: Any, rounds: int
) -> None:
    assert stages_of(data, algorithm)[1] == stages(rounds)


def test_the_rounds_of_auto_are_those_of_its_statement() -> None:
    """For sets of one item it chooses an algorithm without rounds."""
    for data, rounds in ((DATA, 20), ({n: [f"{n % 400}"] for n in range(9000)}, 0)):
        release, told = stages_of(data, "auto")
        assert release.statement is not None
        chosen = release.statement.parameters["chosen"]
        assert chosen["parameters"].get("rounds", 0) == rounds
        assert told == stages(rounds)


def stages_of(data: Any, algorithm: Any) -> tuple[dpsu.Release, list[str]]:
    told: list[str] = []
    with seeded(1):
        release = dpsu.release(data, epsilon=2, delta=1e-6, algorithm=algorithm, progress=told.append)
    return release, told


def stages(rounds: int) -> list[str]:
    numbers = [f"round {number} of {rounds}" for number in range(1, rounds + 1)]
    return ["reading", "weighing and deciding", *numbers, "decoding"]


def test_a_bar_in_a_terminal_shows_the_stage_as_text() -> None:
    screen = io.StringIO()
    with terminal_bar(Console(file=screen, force_terminal=True, width=80)) as tell:
        tell("level [bold]1 of 2")
    assert "level [bold]1 of 2" in screen.getvalue()
    silent = io.StringIO()
    with terminal_bar(Console(file=silent)) as tell:
        tell("reading")
    assert silent.getvalue() == ""


def test_progress_may_be_true_or_left_out(capsys: Any) -> None:
    for progress in (True, False, None):
        assert dpsu.release(DATA, epsilon=2, delta=1e-6, progress=progress).items == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display", reason="needs IPython")
    shown: list[str] = []

    class Handle:
        def update(self, html: Any) -> None:
            shown.append(html.data)

    monkeypatch.setattr("dpsu.report.progress.in_notebook", lambda: True)
    monkeypatch.setattr(display, "display", lambda html, display_id: shown.append(html.data) or Handle())
    with suppress(ZeroDivisionError), telling(True) as tell:
        tell("<reading>")
        raise ZeroDivisionError
    assert "<progress" in shown[1]
    assert "&lt;reading&gt;" in shown[1]
    assert shown[-1] == ""


def test_the_package_is_also_the_function() -> None:
    """Whichever of the two is imported first."""
    for first in ("import dpsu.report.numbers", "pass"):
        script = f"{first}\nimport dpsu\nassert callable(dpsu.report)\nassert 'report' in dpsu.__all__"
        subprocess.run([sys.executable, "-c", script], check=True)
