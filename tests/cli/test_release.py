"""`dpsu release`, from its arguments to its exit code."""

import json
from pathlib import Path

import polars as pl
import pytest
from command import dpsu, dpsu_process

PRIVACY = ["--epsilon", "8", "--delta", "1e-15", "--algorithm", "focused-gaussian"]
"""With `posts` and noise of a process of its own, the probability of another result is below 1e-12: at most 400 users times
a delta_new of 4e-16 for their secrets; the items that all hold exceed the threshold by 12 sigma in the first round."""


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "posts.parquet"
    rows = [(n, word) for n in range(400) for word in ("and", "the")] + [
        (n, f"secret {n}") for n in range(400)
    ]
    pl.DataFrame(rows, schema=["author", "word"], orient="row").write_parquet(path)
    return path


def test_a_public_order_comes_from_a_file(posts: Path, tmp_path: Path) -> None:
    order, target = tmp_path / "order.txt", tmp_path / "words.txt"
    order.write_text("the\nand\n")
    columns = ["--user", "author", "--item", "word"]
    # With this alpha the cutoff lies where the curve is 1; a secret comes out with a chance of delta.
    how = ["--algorithm", "ordered-laplace", "--alpha", "60", "--order", order]
    run = dpsu("release", posts, *columns, *PRIVACY, *how, "-o", target)
    assert run.returncode == 0, run.stderr
    assert target.read_text().split() == ["and", "the"]
    assert json.loads(Path(f"{target}.statement.json").read_text())["lists"]["order"]["count"] == 2


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "txt"])
def test_release_writes_the_items(posts: Path, tmp_path: Path, ending: str) -> None:
    target, statement = tmp_path / f"words.{ending}", tmp_path / "statement.json"
    run = dpsu(
        "release",
        posts,
        "--user",
        "author",
        "--item",
        "word",
        *PRIVACY,
        "-o",
        target,
        "--statement",
        statement,
    )
    assert run.returncode == 0, run.stderr
    assert "the" in (target.read_text() if ending != "parquet" else str(pl.read_parquet(target)))
    assert b"secret" not in target.read_bytes() + run.stdout + run.stderr
    assert json.loads(statement.read_text())["epsilon"] == 8
    assert b"1e-15" in run.stderr
    assert run.stdout == b""


def test_a_list_of_candidates_comes_from_a_file(posts: Path, tmp_path: Path) -> None:
    listed, target = tmp_path / "list.txt", tmp_path / "words.csv"
    listed.write_text("the\nnobody\n")
    how = [
        posts,
        "--user",
        "author",
        "--item",
        "word",
        *PRIVACY,
        "--candidates",
        listed,
        "--false-share",
        "1e-9",
    ]
    run = dpsu("release", *how, "-o", target)
    assert run.returncode == 0, run.stderr
    assert target.read_text().split() == ["word,listed", "and,false", "the,true"]
    assert dpsu("verify", f"{target}.statement.json", "--released", target).returncode == 0
    run = dpsu("release", *how, "--listed-only", "-o", target)
    assert run.returncode == 0, run.stderr
    assert target.read_text().split() == ["word,listed", "the,true"]
    for wrong in ([*how[:-2], "-o", target], [*how, "-o", tmp_path / "words.txt"]):
        run = dpsu("release", *wrong)
        assert run.returncode == 2
        assert b"Traceback" not in run.stderr


def test_items_to_standard_output_and_rows_from_standard_input(posts: Path) -> None:
    csv = pl.read_parquet(posts).write_csv().encode()
    run = dpsu_process(
        "release",
        "-",
        "--format",
        "csv",
        "--user",
        "author",
        "--item",
        "word",
        *PRIVACY,
        "-o",
        "-",
        stdin=csv,
    )
    assert run.stdout == b"and\nthe\n"


def test_json_and_quiet(posts: Path, tmp_path: Path) -> None:
    common = ["release", posts, "--user", "author", "--item", "word", *PRIVACY, "-o", tmp_path / "out.csv"]
    summary = json.loads(dpsu(*common, "--json").stdout)
    assert summary["released"] == 2
    assert summary["statement"]["delta"] == 1e-15
    silent = dpsu(*common, "--quiet")
    assert silent.stdout + silent.stderr == b""


def wrong_calls(posts: Path, tmp_path: Path) -> dict[str, tuple[list[str | Path], int, str]]:
    not_parquet = tmp_path / "fake.parquet"
    not_parquet.write_text("author,word\n1,a\n")
    columns: list[str | Path] = ["--user", "author", "--item", "word"]
    out: list[str | Path] = ["-o", tmp_path / "out.csv"]
    return {
        "wrong column": (
            [posts, "--user", "autor", "--item", "word", *PRIVACY, *out],
            2,
            "'author'",
        ),
        "missing file": ([tmp_path / "no.parquet", *columns, *PRIVACY, *out], 1, "no.parquet"),
        "not what its ending says": ([not_parquet, *columns, *PRIVACY, *out], 1, "fake.parquet"),
        "epsilon zero": ([posts, *columns, "--epsilon", "0", "--delta", "0.01", *out], 2, "epsilon"),
        "epsilon nan": ([posts, *columns, "--epsilon", "nan", "--delta", "0.01", *out], 2, "epsilon"),
        "delta one": ([posts, *columns, "--epsilon", "1", "--delta", "1", *out], 2, "delta"),
        "no privacy": ([posts, *columns, *out], 2, "epsilon"),
        "max_items zero": ([posts, *columns, *PRIVACY, "--max-items", "0", *out], 2, "max_items"),
        "unknown ending": (
            [posts, *columns, *PRIVACY, "-o", tmp_path / "out.doc"],
            2,
            ".parquet",
        ),
        "no folder": (
            [posts, *columns, *PRIVACY, "-o", tmp_path / "none" / "out.csv"],
            1,
            "none",
        ),
        "not private": ([posts, *columns, *PRIVACY, "--algorithm", "k-anonymity", *out], 2, "--unsafe"),
        "items of two columns": (
            [
                posts,
                "--user",
                "author",
                "--item",
                "word",
                "--item",
                "part",
                *PRIVACY,
                "-o",
                tmp_path / "out.txt",
            ],
            2,
            "columns",
        ),
        "endless sizes": (
            [posts, "--user", "author", "--text", "word", "--ngrams", "1-9999999999", *PRIVACY, *out],
            2,
            "--ngrams",
        ),
        "unknown option": ([posts, *columns, *PRIVACY, "--colour", "red", *out], 2, "--colour"),
    }


CASES = (
    "wrong column", "missing file", "not what its ending says", "epsilon zero", "epsilon nan", "delta one", "no privacy",
    "max_items zero", "unknown ending", "no folder", "not private", "items of two columns", "endless sizes",
    "unknown option",
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_wrong_calls_are_one_clear_line(posts: Path, tmp_path: Path, case: str) -> None:
    arguments, code, message = wrong_calls(posts, tmp_path)[case]
    before = set(tmp_path.iterdir())
    run = dpsu("release", *arguments)
    errors = run.stderr.decode()
    assert run.returncode == code, errors
    assert message in errors
    assert "Traceback" not in errors
    assert run.stdout == b""
    assert set(tmp_path.iterdir()) == before
    if case != "unknown option":
        assert errors.count("\n") == 1


def test_a_file_without_rows_gives_an_empty_output(tmp_path: Path) -> None:
    source, target = tmp_path / "none.parquet", tmp_path / "out.csv"
    pl.DataFrame(schema={"author": pl.Int64, "word": pl.String}).write_parquet(source)
    run = dpsu("release", source, "--user", "author", "--item", "word", *PRIVACY, "-o", target)
    assert run.returncode == 0, run.stderr
    assert target.read_text() == "word\n"
    assert b"note" in run.stderr
