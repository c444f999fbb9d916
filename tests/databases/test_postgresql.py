"""A release from a real PostgreSQL server, which the test starts and stops."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command import dpsu as command
from leaks import told

import dpsu

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
pytestmark = pytest.mark.skipif(
    not PROGRAMS, reason="PostgreSQL is not installed, and make test-databases could not install it"
)

PASSWORD = "open-sesame"
USERS = 2000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server in a folder of its own, which is removed with it.

    The folder is not below pytest's, which only its owner may enter: PostgreSQL does not run as root. The path is short,
    because the path of a socket has at most 107 bytes.
    """
    as_root = os.getuid() == 0
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if as_root else []
    programs = PROGRAMS[-1].parent
    with TemporaryDirectory(prefix="dpsu-postgresql-") as name:
        folder = Path(name)
        database, secret = folder / "db", folder / "password"

        def run(*words: str | Path) -> None:
            subprocess.run([*as_user, *words], check=True, capture_output=True, cwd=folder)

        secret.write_text(PASSWORD)
        if as_root:
            for path in (folder, secret):
                shutil.chown(path, "postgres", "postgres")
        run(
            *(programs / "initdb", "-D", database, "-U", "curator", "-A", "scram-sha-256"),
            f"--pwfile={secret}",
        )
        options = f"-c listen_addresses= -c unix_socket_directories={folder}"
        run(programs / "pg_ctl", "-D", database, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://curator:{PASSWORD}@/postgres?host={folder}"
        finally:
            run(programs / "pg_ctl", "-D", database, "-w", "-m", "immediate", "stop")


@pytest.fixture(scope="module")
def filled(address: str) -> str:
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(
            "create table posts as select n as author, unnest(array['tea', 'milk', 'own ' || n]) as word "
            f"from generate_series(1, {USERS}) n"
        )
        connection.commit()
    return address


QUERY = "select author, word from posts"
COLUMNS = {"user": "author", "item": "word", "epsilon": 1, "delta": 1e-6}


def test_an_address_and_a_connection(filled: str) -> None:
    assert dpsu.release(filled, query=QUERY, **COLUMNS).items == ["milk", "tea"]
    with dbapi.connect(filled) as connection:
        assert dpsu.release(connection, query=QUERY, **COLUMNS).items == ["milk", "tea"]


def test_text_from_a_query(filled: str) -> None:
    release = dpsu.release(filled, query=QUERY, user="author", text="word", epsilon=1, delta=1e-6)
    assert release.items == ["milk", "own", "tea"]


def test_the_command_shows_no_password(filled: str, tmp_path: Path) -> None:
    words = [
        "--user",
        "author",
        "--item",
        "word",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--algorithm",
        "focused-gaussian",
        "-o",
        tmp_path / "words.csv",
    ]
    ended = command("release", filled, "--query", QUERY, *words)
    assert ended.returncode == 0
    assert (tmp_path / "words.csv").read_text() == "word\nmilk\ntea\n"
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert PASSWORD not in written + (ended.stdout + ended.stderr).decode()


@pytest.mark.parametrize(
    "query", ["select nothing from nowhere", "select 1 / 0 as author, 'x' as word", None]
)
def test_errors_show_no_password_and_no_query(filled: str, query: str | None) -> None:
    for source in (filled, filled.replace(PASSWORD, PASSWORD + "-wrong")):
        with pytest.raises(dpsu.DpsuError) as caught:
            dpsu.release(source, query=query, **COLUMNS)
        assert PASSWORD not in told(caught.value)
        assert "nowhere" not in told(caught.value)


def test_rows_without_a_user_or_an_item(filled: str) -> None:
    query = f"{QUERY} union all select null, 'tea' union all select 1, null"
    with pytest.raises(dpsu.DpsuError, match="drop_nulls"):
        dpsu.release(filled, query=query, **COLUMNS)
    assert dpsu.release(filled, query=query, drop_nulls=True, **COLUMNS).items == ["milk", "tea"]
