"""Series from its creation to its last period: outputs, refusals and the state on the disk."""

import errno
import shutil
import stat
import warnings
from pathlib import Path

import duckdb
import polars as pl
import pytest
from command import dpsu as command
from leaks import buffers_of

import dpsu
from dpsu.errors import DpsuError, InvalidArgument, LedgerError, OutputError, SeriesError

TERMS = {"epsilon": 3.0, "delta": 1e-6, "periods": 3, "max_items": 5}


def users(*items: object, count: int = 500) -> dict[int, list[object]]:
    return {n: list(items) for n in range(count)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.series"


def test_a_series_from_the_first_period_to_one_too_many(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    assert series.release(users("a", "b")).items == ["a", "b"]
    second = dpsu.Series.open(path).release(users("a", "c"))
    assert second.items == ["c"]
    assert dpsu.verify(second.statement).ok
    assert series.items == ["a", "b", "c"]
    with pytest.warns(dpsu.EmptyRelease):
        assert series.release({}).items == []
    assert series.done == [1, 2, 3]
    with pytest.raises(SeriesError, match="3 periods"):
        series.release(users("d"))
    assert [series.released(period).items for period in (1, 2, 3)] == [["a", "b"], ["c"], []]
    assert series.released(2).statement == second.statement


def test_an_empty_first_period_fixes_no_type(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    with pytest.warns(dpsu.EmptyRelease):
        series.release({})
    assert series.released(1).items == []
    assert series.release(users(7, 8)).items == [7, 8]
    with pytest.raises(SeriesError, match="types"):
        series.release(users("a"))


def test_what_was_given_counts_in_later_periods_without_holders(path: Path) -> None:
    """Together the periods release what one of them alone does not."""
    series = dpsu.Series.create(path, epsilon=1.0, delta=1e-6, periods=6, max_items=1)
    known = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        for _ in range(6):
            series.release(users("rare", count=38))
            known.append(series.items)
    assert known[0] == []
    assert known[-1] == ["rare"]


def test_what_comes_out_without_holders_shares_no_memory_with_other_items(path: Path) -> None:
    """Arrow hands over whole buffers, and those of the state have all items."""
    near = {f"user {n} {k}": [f"item number {k} near the boundary"] for k in range(300) for n in range(8)}
    with warnings.catch_warnings(), dpsu.testing.seeded(1):
        warnings.simplefilter("ignore")
        series = dpsu.Series.create(path, **{**TERMS, "delta": 1e-3}, shares=[0.4, 0.05, 0.55])
        series.release(near)
    second = series.release({})
    assert len(second) > 0
    found = sum(buffer.count(b"near the boundary") for buffer in buffers_of(second.to_polars()))
    assert found == len(second)


def test_periods_are_skipped_but_never_repeated(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    series.release(users("a"), period=2)
    for period in (1, 2):
        with pytest.raises(SeriesError, match=f"period {period}"):
            series.release(users("b"), period=period)
    for period in (0, -1, True, "3", 1.5):
        with pytest.raises(InvalidArgument):
            series.release(users("b"), period=period)  # type: ignore[arg-type]
    with pytest.raises(SeriesError):
        series.released(1)


def test_columns_types_and_candidates_are_refused_before_anything_happens(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    frame = pl.DataFrame({"u": range(500), "i": ["x"] * 500})
    series.release(frame, user="u", item="i", check_user=False)
    before = path.read_bytes()
    for other in (frame.rename({"i": "j"}), frame.with_columns(i=pl.lit(1))):
        with pytest.raises(SeriesError):
            series.release(other, user="u", item=other.columns[1], check_user=False)
    numbers = {"counts": True, "sums": {"n": (0, 1)}, "others": True}
    lists = {"candidates": ["x"], "public_items": ["x"], "exclude": ["x"]}
    for name, value in {**numbers, **lists, "epsilon": 2.0}.items():
        with pytest.raises(InvalidArgument, match=name):
            series.release(frame, user="u", item="i", **{name: value})
    assert path.read_bytes() == before


def test_the_columns_of_composite_items_keep_their_order(path: Path) -> None:
    """In another order an item would have another digest: other noise, and a second release."""
    series = dpsu.Series.create(path, **TERMS)
    frame = pl.DataFrame({"u": range(500), "a": ["1"] * 500, "b": ["2"] * 500})
    series.release(frame, user="u", item=["a", "b"], check_user=False)
    before = path.read_bytes()
    with pytest.raises(SeriesError, match="order"):
        series.release(frame, user="u", item=["b", "a"], check_user=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["dpsu total", "dpsu period"])
def test_columns_of_the_state_are_not_items(path: Path, name: str) -> None:
    series = dpsu.Series.create(path, **TERMS)
    frame = pl.DataFrame({"u": range(500), name: ["1"] * 500, "b": ["2"] * 500})
    with pytest.raises(InvalidArgument, match=name):
        series.release(frame, user="u", item=[name, "b"], check_user=False)
    assert series.done == []


def test_text_is_a_source(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    assert series.release(users("To be, or not"), text=True).items == ["be", "not", "or", "to"]
    assert series.release(users("to be that"), text=True).items == ["that"]


def test_another_tokenizer_or_other_ngrams_are_refused(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    with pytest.warns(dpsu.EmptyRelease):
        series.release({})
    series.release(users("to be"), text=True, ngrams=[1, 2])
    before = path.read_bytes()
    for more in (
        {"text": True},
        {"text": True, "ngrams": 2},
        {"text": True, "ngrams": [1, 2], "tokenizer": "whitespace"},
        {"text": True, "ngrams": [1, 2], "tokenizer": r"\w+"},
        {"text": True, "ngrams": [1, 2], "tokenizer": str.split},
        {},
    ):
        with pytest.raises(SeriesError, match="same tokenizer"):
            series.release(users("to be"), **more)
    assert path.read_bytes() == before
    assert series.release(users("or not"), text=True, ngrams=[1, 2]).items == ["not", "or", "or not"]


def test_the_state_is_the_owners_alone_and_nothing_is_left_beside_it(path: Path) -> None:
    series = dpsu.Series.create(path, **TERMS)
    series.release(users("a"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert "a" not in repr(series).split()


def test_a_damaged_altered_or_later_state_is_refused(path: Path) -> None:
    dpsu.Series.create(path, **TERMS)
    whole = path.read_bytes()
    for content in (
        whole[:-1],
        whole[:20],
        b"",
        whole.replace(b'"epsilon": 3.0', b'"epsilon": 9.0'),
        whole.replace(b"dpsu-series/1", b"dpsu-series/2"),
        whole + b"x",
    ):
        path.write_bytes(content)
        with pytest.raises(SeriesError):
            dpsu.Series.open(path)
    with pytest.raises(SeriesError):
        dpsu.Series.create(path, **TERMS)
    with pytest.raises(SeriesError):
        dpsu.Series.open(path.parent / "none.series")
    path.write_bytes(b"")
    with pytest.raises(SeriesError, match="delete"):
        dpsu.Series.open(path)


def test_a_second_writer_is_refused(path: Path) -> None:
    from dpsu.outcome.series_state import locked

    series = dpsu.Series.create(path, **TERMS)
    with locked(path), pytest.raises(SeriesError, match="another process"):
        series.release(users("a"))
    assert series.release(users("a")).items == ["a"]


def test_a_link_is_followed_so_that_no_old_state_stays_behind(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dpsu.Series.create(path, **TERMS)
    link = tmp_path / "link.series"
    link.symlink_to(path)
    dpsu.Series.open(link).release(users("a"))
    assert link.is_symlink()
    assert dpsu.Series.open(path).done == [1]
    monkeypatch.chdir(tmp_path)
    series = dpsu.Series.open(path.name)
    monkeypatch.chdir("/")
    assert series.release(users("b")).items == ["b"]


def test_a_state_with_two_names_is_refused(path: Path, tmp_path: Path) -> None:
    series, other = dpsu.Series.create(path, **TERMS), tmp_path / "other.series"
    other.hardlink_to(path)
    for each in (series, dpsu.Series.open(other)):
        with pytest.raises(SeriesError, match="hard link"):
            each.release(users("a"))
    other.unlink()
    assert series.release(users("a")).items == ["a"]


def test_an_error_in_the_middle_leaves_the_state_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = dpsu.Series.create(path, **TERMS)
    before = path.read_bytes()

    def fails(*args: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("dpsu.engines.local.LocalEngine.weigh", fails)
        with pytest.raises(MemoryError):
            series.release(users("a"))
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_ledger_counts_a_series_once_and_refuses_a_restored_state(path: Path, tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)
    series = dpsu.Series.create(path, **TERMS, ledger=ledger)
    spent, backup = ledger.epsilon(), tmp_path / "backup"
    first = series.release(users("a"))
    shutil.copy(path, backup)
    series.release(users("b"))
    assert ledger.epsilon() == spent
    assert len(ledger.entries()) == 1
    assert ledger.record(first.statement) == 1
    after = path.read_bytes()
    shutil.copy(backup, path)
    with pytest.raises(SeriesError, match="latest"):
        series.release(users("c"))
    path.write_bytes(after)
    assert series.release(users("c")).items == ["c"]
    with pytest.raises(LedgerError):
        dpsu.Series.create(tmp_path / "other.series", **TERMS, ledger=ledger)
    assert not (tmp_path / "other.series").exists()


def test_a_restored_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    ledger, backup = tmp_path / "spent.db", tmp_path / "backup.db"
    dpsu.Ledger.create(ledger, epsilon=3.2, delta=1.1e-6)
    series = dpsu.Series.create(path, **TERMS, ledger=ledger)
    shutil.copy(ledger, backup)
    for item in ("a", "b"):
        series.release(users(item))
    latest = ledger.read_bytes()
    shutil.copy(backup, ledger)
    with pytest.raises(LedgerError, match="lacks"):
        series.release(users("c"))
    ledger.write_bytes(latest)
    assert series.release(users("c")).items == ["c"]


def test_a_ledger_behind_the_state_is_completed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the state and the ledger; a copy that did the same period is refused."""
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)
    series = dpsu.Series.create(path, **TERMS, ledger=ledger)
    copied = tmp_path / "copy.series"
    shutil.copy(path, copied)

    def crashes(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dpsu.Ledger, "note_period", crashes)
        for each, item in ((series, "a"), (dpsu.Series.open(copied), "z")):
            with pytest.raises(KeyboardInterrupt):
                each.release(users(item))
    assert series.released(1).items == ["a"]
    assert series.release(users("b")).items == ["b"]
    assert [period for period, _ in ledger.entries()[0].periods] == [1, 2]
    with pytest.raises(SeriesError):
        dpsu.Series.open(copied).release(users("b"))
    with pytest.raises(SeriesError):
        dpsu.Series.open(copied).released(1)
    assert "so far: 2" in series.show()
    assert all("1 item" not in told and ": 1" not in told.splitlines()[-1] for told in _told(copied))


def test_a_copy_that_runs_at_the_same_time_gives_no_output(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it skips the period that the other one does: its state does not follow from the other's."""
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)
    series, copied = dpsu.Series.create(path, **TERMS, ledger=ledger), tmp_path / "copy.series"
    shutil.copy(path, copied)
    reads = dpsu.engines.local.LocalEngine.read

    def meanwhile(*args: object) -> object:
        monkeypatch.setattr("dpsu.engines.local.LocalEngine.read", reads)
        assert series.release(users("a")).items == ["a"]
        return reads(*args)

    monkeypatch.setattr("dpsu.engines.local.LocalEngine.read", meanwhile)
    with pytest.raises(LedgerError, match="another copy"):
        dpsu.Series.open(copied).release(users("b"), period=2)
    for refused in (lambda each: each.released(2), lambda each: each.items):
        with pytest.raises(SeriesError):
            refused(dpsu.Series.open(copied))
    assert series.release(users("c")).items == ["c"]


def _told(path: Path) -> list[str]:
    """What a series tells without being asked for its items."""
    series = dpsu.Series.open(path)
    return [series.show(), repr(series)]


def test_a_series_that_cannot_be_created_costs_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)
    taken = tmp_path / "taken.series"
    taken.write_text("mine")
    for wrong in (taken, tmp_path, tmp_path / "none" / "w.series", tmp_path / ("x" * 300), ledger.path):
        with pytest.raises(DpsuError):
            dpsu.Series.create(wrong, **TERMS, ledger=ledger)
    assert taken.read_text() == "mine"

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dpsu.outcome.series_state.os.fsync", full)
        with pytest.raises(OutputError):
            dpsu.Series.create(path, **TERMS, ledger=ledger)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["spent.db", "taken.series"]
    assert ledger.entries() == []


def test_a_creation_that_is_interrupted_costs_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between the state and the ledger: the state is of no use, and a new one takes its place."""
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dpsu.Ledger, "reserve", killed)
        with pytest.raises(KeyboardInterrupt):
            dpsu.Series.create(path, **TERMS, ledger=ledger)
    with pytest.raises(LedgerError, match="delete"):
        dpsu.Series.open(path).release(users("a"))
    assert ledger.entries() == []
    path.unlink()
    assert dpsu.Series.create(path, **TERMS, ledger=ledger).release(users("a")).items == ["a"]


def test_a_ledger_that_was_moved_is_named(path: Path, tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=3.2, delta=1.1e-6)
    series = dpsu.Series.create(path, **TERMS, ledger=ledger)
    backup, moved = tmp_path / "backup", tmp_path / "moved.db"
    shutil.copy(path, backup)
    series.release(users("a"))
    (tmp_path / "spent.db").rename(moved)
    for refused in (lambda: series.items, lambda: series.released(1), lambda: series.release(users("b"))):
        with pytest.raises(DpsuError):
            refused()
    assert series.released(1, ledger=moved).items == ["a"]
    assert series.to_polars(ledger=moved).height == 1
    again = dpsu.Series.open(path, ledger=moved)
    assert again.items == ["a"]
    assert again.release(users("b")).items == ["b"]
    asked = ["series", "release", path, "--period", "2", "-o", tmp_path / "again.csv"]
    assert command(*asked, cwd=tmp_path).returncode != 0
    assert command(*asked, "--ledger", moved, cwd=tmp_path).returncode == 0
    shutil.copy(backup, path)
    with pytest.raises(SeriesError, match="latest"):
        again.release(users("c"))


def test_promises_about_one_period_add_up_period_by_period(tmp_path: Path) -> None:
    ledger = dpsu.Ledger.create(tmp_path / "spent.db", epsilon=1.1, delta=1.1e-6)
    for period in ("2026-01", "2026-02"):
        made = dpsu.release(users("a"), epsilon=1, delta=1e-6, period=period, ledger=ledger)
        assert period in made.statement.unit
        assert dpsu.verify(made.statement).ok
    with pytest.raises(LedgerError):
        dpsu.release(users("a"), epsilon=1, delta=1e-6, period="2026-01", ledger=ledger)
    with pytest.raises(LedgerError):
        dpsu.release(users("a"), epsilon=1, delta=1e-6, ledger=ledger)
    assert ledger.epsilon_by_period() == pytest.approx({"2026-01": 1.0, "2026-02": 1.0})
    for period in ("", "a\nb", "x" * 65, "2026-01 ", 3):
        with pytest.raises(DpsuError):
            dpsu.release(users("a"), epsilon=1, delta=1e-6, period=period)  # type: ignore[arg-type]


def test_a_period_is_read_from_files_and_databases_as_a_release_is(path: Path, tmp_path: Path) -> None:
    rows = "Kunde;Ware\n" + "".join(f"{n};Käse\n" for n in range(500))
    (tmp_path / "rows.csv").write_text(rows, encoding="cp1252")
    dpsu.Series.create(path, **TERMS)
    columns = ["--user", "Kunde", "--item", "Ware", "-o", tmp_path / "new.csv"]
    ended = command("series", "release", path, tmp_path / "rows.csv", "--encoding", "cp1252", *columns)
    assert ended.returncode == 0, ended.stderr
    with duckdb.connect() as connection:
        query = "select i as Kunde, 'Brot' as Ware from range(500) t(i)"
        found = dpsu.Series.open(path).release(connection, query=query, user="Kunde", item="Ware")
    assert found.items == ["Brot"]


def test_the_command_creates_releases_shows_and_writes_again(tmp_path: Path) -> None:
    pl.DataFrame({"u": range(500), "i": ["x"] * 500}).write_parquet(tmp_path / "january.parquet")
    terms = ["--epsilon", "3", "--delta", "1e-6", "--periods", "2", "--max-items", "5"]
    assert command("series", "create", "w.series", *terms, cwd=tmp_path).returncode == 0
    asked = ["series", "release", "w.series", "january.parquet", "--user", "u", "--item", "i", "-q"]
    run = command(*asked, "-o", "new.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    again = command("series", "release", "w.series", "--period", "1", "-o", "again.csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "new.csv").read_text() == (tmp_path / "again.csv").read_text() == "i\nx\n"
    assert b"items so far: 1" in command("series", "show", "w.series", cwd=tmp_path).stdout
    assert command("verify", "new.csv.statement.json", cwd=tmp_path).returncode == 0
    assert command(*asked, "-o", "w.series", cwd=tmp_path).returncode != 0


def test_the_command_plans_for_a_shape_or_for_holders(tmp_path: Path) -> None:
    terms = ["series", "plan", "--epsilon", "3", "--delta", "1e-6", "--periods", "2", "--max-items", "5"]
    shape = ["--users", "2000", "--items-per-user", "2"]
    for more in ([], shape, [*shape, "--shares", "0.7,0.3", "--shares", "even"], ["--holders", "5"]):
        run = command(*terms, *more, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    for wrong in (
        ["--users", "9"],
        ["--zipf", "1"],
        ["--holders", "a"],
        ["--holders", "0"],
        ["--shares", "0.7"],
    ):
        assert command(*terms, *wrong, cwd=tmp_path).returncode != 0
