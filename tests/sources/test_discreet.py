"""No error tells what is in the data: not in its message, and not in the errors behind it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from leaks import SECRET, told, whole_chain

import dpsu
from dpsu.errors import ColumnNotFound, DpsuError, InvalidArgument, SourceError
from dpsu.randomness.stream import Stream
from dpsu.sources.corpus import split_text, text_rule
from dpsu.sources.pairs import read_sets
from dpsu.sources.text import read_text
from dpsu.testing import seeded

STREAM = Stream(bytes(32), seeded=True)
PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {"user": "user", "item": "item"}


def refused(call: Callable[[], Any], kind: type[DpsuError] = DpsuError) -> str:
    """The message of the refusal, after a look at the whole chain."""
    with pytest.raises(kind) as caught:
        call()
    assert SECRET not in told(caught.value)
    assert [*whole_chain(caught.value)] == [caught.value]
    return str(caught.value)


HEADERLESS = {
    "a.csv": f"{SECRET},tea\nbob,tea\n",
    "a.tsv": f"{SECRET}\ttea\nbob\ttea\n",
    "a.jsonl": f'{{"{SECRET}": "tea"}}\n',
}


@pytest.mark.parametrize("name", HEADERLESS)
def test_the_first_row_of_a_file_without_a_header_is_not_shown(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HEADERLESS[name])
    message = refused(lambda: dpsu.release(tmp_path / name, **COLUMNS, **PRIVACY), ColumnNotFound)
    assert "'user'" in message
    assert "tea" not in message


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "users,item\n"), ("a.jsonl", '{"users": 1, "item": 2}\n')]
)
def test_a_near_match_is_shown_for_every_format(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    message = refused(lambda: read_sets(tmp_path / name, **COLUMNS, stream=STREAM), ColumnNotFound)
    assert "'users'" in message


def test_parquet_and_frames_show_the_names_of_their_schema(tmp_path: Path) -> None:
    frame = pl.DataFrame({"person": ["ann"], "code": ["tea"]})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, frame.to_arrow()):
        message = refused(lambda source=source: read_sets(source, **COLUMNS, stream=STREAM), ColumnNotFound)
        assert "person, code" in message


def test_the_values_of_a_folders_keys_are_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / f"user={SECRET}"
    folder.mkdir()
    pl.DataFrame({"code": ["tea"]}).write_parquet(folder / "a.parquet")
    for source in (tmp_path, f"{tmp_path}/*/*.parquet"):
        message = refused(lambda source=source: read_sets(source, **COLUMNS, stream=STREAM))
        assert "user=…" in message
    (folder / "a.parquet").write_text("not Parquet at all")
    refused(lambda: read_sets(tmp_path, **COLUMNS, stream=STREAM), SourceError)


def failing(entries: list[Any]) -> Iterator[Any]:
    yield from entries
    raise ValueError(SECRET)


def raises_in_polars() -> pl.LazyFrame:
    def fail(value: str) -> str:
        raise ValueError(value)

    frame = pl.LazyFrame({"user": [SECRET], "item": ["tea"]})
    return frame.with_columns(pl.col("user").map_elements(fail, return_dtype=pl.String))


SOURCES = {
    "a generator that raises": lambda: failing([("ann", ["tea"])]),
    "items that raise": lambda: {"ann": failing(["tea"])},
    "lone surrogates": lambda: {"ann": [f"{SECRET}\ud800"]},
    "mixed types": lambda: {"ann": [SECRET, 1]},
    "not pairs": lambda: [(SECRET,)],
    "huge integers": lambda: {SECRET: [2**200]},
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_collections(make: Callable[[], Any]) -> None:
    refused(lambda: dpsu.release(make(), **PRIVACY))


FRAMES = {
    "mixed types": lambda: pd.DataFrame({"user": [SECRET, 2], "item": [1, 2]}),
    "a failing function": raises_in_polars,
    "unhashable objects": lambda: pd.DataFrame({"user": [[SECRET], 2], "item": [1, 2]}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_frames(make: Callable[[], Any]) -> None:
    refused(lambda: dpsu.release(make(), **COLUMNS, **PRIVACY))


DAMAGED = {
    "ragged.csv": f"user,item\nbob,tea\n{SECRET},{SECRET},{SECRET}\n".encode(),
    "latin1.csv": f"user,item\n{SECRET},caf".encode() + b"\xe9\n",
    "cut.jsonl": f'{{"user": "bob", "item": "tea"}}\n{{"user": "{SECRET}", "it'.encode(),
    "text.parquet": SECRET.encode() * 10,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    refused(lambda: dpsu.release(tmp_path / name, **COLUMNS, **PRIVACY), SourceError)


def test_a_released_item_that_is_no_text() -> None:
    binary = pa.array([SECRET.encode() + b"\xff"] * 500, pa.binary())
    table = pa.table({"user": range(500), "item": pa.Array.from_buffers(pa.string(), 500, binary.buffers())})
    with seeded(1):
        refused(lambda: dpsu.release(table, **COLUMNS, **PRIVACY), SourceError)


def raises(text: str) -> list[str]:
    raise ValueError(f"cannot split {text!r}")


def raises_behind(text: str) -> list[str]:
    try:
        return raises(text)
    except ValueError as error:
        raise KeyError(text) from error


def raises_our_own(text: str) -> list[str]:
    raise InvalidArgument(text)


TOKENIZERS: dict[str, tuple[Any, str]] = {
    "raises": (raises, "ValueError"),
    "raises behind another": (raises_behind, "KeyError"),
    "raises an error of dpsu": (raises_our_own, "InvalidArgument"),
    "raises on the way": (lambda text: failing([text]), "ValueError"),
    "nothing": (lambda text: None, "None"),
    "one string": (str.lower, "str"),
    "numbers": (lambda text: [text, 7], "int"),
    "bytes": (lambda text: [text.encode()], "bytes"),
}


@pytest.mark.parametrize(("tokenizer", "expected"), TOKENIZERS.values(), ids=TOKENIZERS.keys())
def test_tokenizers(tokenizer: Any, expected: str) -> None:
    source = {"ann": [f"{SECRET} and more"], "bob": ["tea"]}
    assert expected in refused(lambda: dpsu.release(source, text=True, tokenizer=tokenizer, **PRIVACY))
    assert expected in refused(lambda: dpsu.ngrams(source, tokenizer=tokenizer, **PRIVACY))
    assert expected in refused(lambda: split_text(SECRET, tokenizer))


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), MemoryError()])
def test_interrupts_and_a_lack_of_memory_pass(stop: BaseException) -> None:
    def tokenizer(text: str) -> list[str]:
        raise stop

    with pytest.raises(type(stop)) as caught:
        read_text({"ann": [SECRET]}, text_rule(True, tokenizer=tokenizer), stream=STREAM)  # type: ignore[arg-type]
    assert caught.value is stop

    def items() -> Iterator[str]:
        yield SECRET
        raise stop

    with pytest.raises(type(stop)) as caught:
        read_sets({"ann": items()}, stream=STREAM)
    assert caught.value is stop
    assert SECRET not in told(stop)
