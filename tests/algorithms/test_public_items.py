"""Public items, excluded items and counts."""

import datetime
import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from leaks import SECRET, buffers_of, told

import dpsu
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.holders import CountingTerms, share_with_counts
from dpsu.algorithms.public_items import NO_ITEM, RESPELT, read_lists
from dpsu.algorithms.request import Request
from dpsu.errors import InvalidArgument, SourceError
from dpsu.sources.corpus import text_rule
from dpsu.testing import seeded

PRIVACY = {"epsilon": 3.0, "delta": 1e-6}
DATA = {n: ["and", "of", "the"] for n in range(500)}
PRIVATE = [row["name"] for row in dpsu.list_algorithms().iter_rows(named=True) if row["private"]]


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_public_items_always_come_out_and_excluded_ones_never(algorithm: str) -> None:
    items = 1 if algorithm == "optimal-single" else 3
    release = dpsu.release(
        DATA,
        **PRIVACY,
        max_items=items,
        algorithm=algorithm,
        public_items=["zebra", "of"],
        exclude=["the", "nobody's"],
    )
    assert release.items == ["and", "of", "zebra"]


@pytest.mark.parametrize("counts", [False, True])
def test_the_memory_of_the_output_does_not_tell_which_public_items_are_held(counts: bool) -> None:
    """Arrow's views of strings name the buffer of each: held items must not have another one than absent ones."""
    public = ["a public item with a long name", "another public item with a long name"]

    def made(**own: list[str]) -> list[bytes]:
        data = {**{f"user {n}": ["an item that many users hold"] for n in range(800)}, **own}
        with seeded(1):
            release = dpsu.release(
                data,
                epsilon=1.0,
                delta=1e-6,
                max_items=3,
                algorithm="focused-gaussian",
                public_items=public,
                counts=counts,
            )
        assert len(release) == 3
        return buffers_of(release.to_polars())

    assert made() == made(x=public[:1])


def test_listed_items_take_nothing_of_a_users_limit() -> None:
    """Each user holds 50 listed items beside the one that counts, and the limit is one."""
    listed = [f"listed {n}" for n in range(50)]
    data = {n: ["rare", *listed] for n in range(60)}
    for arguments in ({"public_items": listed}, {"exclude": listed}):
        release = dpsu.release(data, epsilon=3.0, delta=1e-4, max_items=1, **arguments)
        assert "rare" in release
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsu.EmptyRelease)
        assert "rare" not in dpsu.release(data, epsilon=3.0, delta=1e-4, max_items=1)


def test_the_statement_says_that_lists_were_used_and_hides_which_items_were_excluded() -> None:
    how = {**PRIVACY, "max_items": 3, "algorithm": "focused-gaussian"}
    releases = [dpsu.release(DATA, **how, public_items=["x"], exclude=["of"]) for _ in range(2)]
    first, second = (release.statement for release in releases)
    assert first is not None
    assert second is not None
    assert first.lists is not None
    assert second.lists is not None
    assert first.lists["public_items"] == second.lists["public_items"]
    assert first.lists["exclude"]["salted_sha256"] != second.lists["exclude"]["salted_sha256"]
    assert [first.lists[name]["count"] for name in ("public_items", "exclude")] == [1, 1]
    assert sum("was not made from this data" in claim for claim in first.rests_on) == 2
    assert first.parameters == second.parameters
    salt = releases[0].exclude_salt
    assert salt is not None
    form = b'[[["string","of"]]]'
    assert first.lists["exclude"]["salted_sha256"] == hashlib.sha256(salt + form).hexdigest()


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([7, 8], [8, 9]),
        ([7, 8], ["8", "9"]),
        (["a", "b"], pl.Series(["b", "c"])),
        (["a", "b"], pl.DataFrame({"item": ["b", "c"], "note": [1, 2]})),
        (
            [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
            [datetime.date(2020, 1, 2), datetime.date(2021, 1, 1)],
        ),
    ],
)
def test_lists_take_the_type_of_the_data(values: list[Any], listed: Any) -> None:
    frame = pl.DataFrame({"user": [*range(400)] * 2, "item": [values[0]] * 400 + [values[1]] * 400})
    columns = {"user": "user", "item": "item"}
    both = dpsu.release(frame, **columns, **PRIVACY, max_items=2, public_items=listed)
    assert len(both) == 3
    assert both.to_polars().schema["item"] == frame.schema["item"]
    assert dpsu.release(frame, **columns, **PRIVACY, max_items=2, exclude=listed).items == values[:1]


def test_composite_items_are_listed_as_tuples() -> None:
    frame = pl.DataFrame({"who": range(400), "country": ["fr"] * 400, "product": [7] * 400})
    columns = {"user": "who", "item": ["country", "product"]}
    release = dpsu.release(frame, **columns, **PRIVACY, public_items=[("de", 1), ("fr", 7)])
    assert release.items == [("de", 1), ("fr", 7)]


@pytest.mark.parametrize("name", ["list.txt", "list.csv", "list.parquet", "list.jsonl"])
def test_lists_may_be_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame({"item": ["zebra", "of"]})
    writers = {"txt": lambda: path.write_text("zebra\nof\n"), "csv": lambda: frame.write_csv(path)}
    writers |= {"parquet": lambda: frame.write_parquet(path), "jsonl": lambda: frame.write_ndjson(path)}
    writers[name.partition(".")[2]]()
    assert dpsu.release(DATA, **PRIVACY, max_items=3, public_items=path).items == [
        "and",
        "of",
        "the",
        "zebra",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mark.txt", "zebra\r\nof\r\n\r\n".encode("utf-8-sig")),
        ("utf-16.txt", "zebra\nof\n".encode("utf-16")),
        ("semicolons.csv", "item;n\nzebra;1\nof;2\n".encode("utf-8-sig")),
        ("utf-16.csv", "n\titem\n1\tzebra\n2\tof\n".encode("utf-16")),
    ],
)
def test_lists_may_be_files_of_editors_and_of_excel(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    data = pl.DataFrame({"user": [*range(500)] * 2, "item": ["of"] * 500 + ["the"] * 500})
    how: Any = {"user": "user", "item": "item", "max_items": 3, **PRIVACY}
    if name.endswith("csv"):  # other columns are ignored if the data has them
        data = data.with_columns(n=1)
    assert dpsu.release(data, exclude=tmp_path / name, **how).items == ["the"]
    assert "zebra" in dpsu.release(data, public_items=tmp_path / name, **how).items


def test_lists_may_be_workbooks(tmp_path: Path) -> None:
    pl.DataFrame({"item": ["007", "of"]}).write_excel(tmp_path / "list.xlsx")
    found = dpsu.release(DATA, **PRIVACY, max_items=3, public_items=tmp_path / "list.xlsx").items
    assert found == ["007", "and", "of", "the"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"public_items": "of"}, InvalidArgument, "public_items"),
        ({"exclude": 3}, InvalidArgument, "exclude"),
        ({"public_items": Path("/no/such/list.txt")}, SourceError, "list.txt"),
        ({"public_items": ["a"], "exclude": ["a"]}, InvalidArgument, "public"),
        ({"public_items": [("a", "b")]}, InvalidArgument, "2 columns where the data's have 1"),
    ],
)
def test_lists_that_make_no_sense_are_refused(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        dpsu.release(DATA, **PRIVACY, max_items=3, **arguments)


TEXT = {n: ["The cat sat, and the DOG barked"] for n in range(500)}


@pytest.mark.parametrize("listed", [["The", "DOG "], ["the", "dog"], pl.DataFrame({"word": ["THE", "dog"]})])
def test_lists_of_words_go_through_the_tokenizer(listed: Any) -> None:
    with seeded(1):
        excluded = dpsu.release(TEXT, text=True, **PRIVACY, max_items=10, exclude=listed)
    assert excluded.items == ["and", "barked", "cat", "sat"]
    with seeded(1):
        public = dpsu.release({1: ["none"]}, text=True, **PRIVACY, public_items=listed)
    assert public.items == ["dog", "the"]


def test_lists_of_ngrams_go_through_the_tokenizer() -> None:
    listed = {"ngrams": (1, 2), "exclude": ["The  cat!", "Barked"], "public_items": ["New-York"]}
    with seeded(1):
        release = dpsu.release(TEXT, text=True, **PRIVACY, max_items=20, **listed)  # type: ignore[arg-type]
    assert "the cat" not in release
    assert "barked" not in release
    assert {"cat", "cat sat", "new york"} <= set(release)


def test_a_tokenizer_of_the_callers_makes_the_items() -> None:
    def tokenizer(text: str) -> list[str]:
        return [word[:3] for word in text.upper().split()]

    with seeded(1):
        release = dpsu.release(
            TEXT, text=True, tokenizer=tokenizer, **PRIVACY, max_items=10, exclude=["barking"]
        )
    assert release.items == ["AND", "CAT", "DOG", "SAT", "THE"]


@pytest.mark.parametrize("entry", ["two words", "", "?!", "don't", None])
def test_an_entry_that_cannot_be_a_word_is_refused_in_exclude_and_left_out_of_public_items(
    entry: Any,
) -> None:
    listed = ["cat", "dog", entry]
    rule = text_rule(True)
    with pytest.raises(InvalidArgument, match="entry 3 of exclude") as caught:
        read_lists(None, listed, rule)
    assert not entry or entry not in told(caught.value)
    read = read_lists(listed, None, rule)
    assert read.notes == (NO_ITEM,)
    assert read.public is not None
    assert read.public.to_series().to_list() == ["cat", "dog"]


def test_notes_on_public_items() -> None:
    assert read_lists(["cat", "dog"], ["The"], text_rule(True)).notes == ()
    assert read_lists(["cat", "The"], None, text_rule(True)).notes == (RESPELT,)
    assert read_lists(["The", "a b"], None, text_rule(True)).notes == (RESPELT, NO_ITEM)
    assert read_lists(["The", "a b"], None, text_rule(True, ngrams=2)).notes == (NO_ITEM,)
    assert read_lists(["The", "a b"], None, None).notes == ()


@pytest.mark.parametrize("listed", [[1, 2], [("a", "b")], pl.DataFrame({"a": ["x"], "b": ["y"]})])
def test_lists_for_text_are_strings(listed: Any) -> None:
    for lists in ((listed, None), (None, listed)):
        with pytest.raises(InvalidArgument, match="column"):
            read_lists(*lists, text_rule(True))


def raises(text: str) -> list[str]:
    raise ValueError(text)


@pytest.mark.parametrize(
    ("data", "arguments", "place"),
    [
        ({n: [n % 3] for n in range(500)}, {"exclude": ["1", SECRET]}, "entry 2 of exclude"),
        ({n: [n % 3] for n in range(500)}, {"public_items": [SECRET]}, "entry 1 of public_items"),
        ({n: [n % 3] for n in range(500)}, {"exclude": [1.5]}, "float64"),
        ({n: [n % 3] for n in range(500)}, {"exclude": pl.Series([[SECRET]])}, "list"),
        (DATA, {"exclude": ["a", SECRET.encode(), 3]}, "exclude"),
        (DATA, {"public_items": ["a", (SECRET, "b"), 3]}, "public_items"),
        (DATA, {"public_items": [f"{SECRET}\ud800"]}, "public_items"),
        (TEXT, {"text": True, "tokenizer": raises, "exclude": [SECRET]}, "tokenizer"),
    ],
)
def test_refusals_of_lists_name_places_and_quote_nothing(data: Any, arguments: Any, place: str) -> None:
    with pytest.raises(dpsu.DpsuError, match=place) as caught:
        dpsu.release(data, **PRIVACY, **arguments)
    assert SECRET not in told(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", f"{SECRET}\ncaf\xe9\n".encode("latin-1")),
        ("list.csv", f"item\n{SECRET},{SECRET},{SECRET}\n".encode()),
        ("list.jsonl", f'{{"item": "{SECRET}'.encode()),
        ("list.parquet", SECRET.encode()),
    ],
)
def test_damaged_lists_are_refused_without_a_word_of_them(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match="items") as caught:
        dpsu.release(DATA, **PRIVACY, exclude=tmp_path / name)
    assert SECRET not in told(caught.value)


def test_digests_are_those_of_the_distinct_items_in_their_canonical_form(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text('item\nb\n"ä ""x"""\nb\n')
    listed = read_lists(tmp_path / "list.csv", ['ä "x"', "b"], None)
    form = '[[["string","b"]],[["string","ä \\"x\\""]]]'.encode()
    assert listed.public_count == listed.excluded_count == 2
    assert listed.public_sha256 == hashlib.sha256(form).hexdigest()
    assert listed.excluded_sha256(b"salt") == hashlib.sha256(b"salt" + form).hexdigest()
    composite = read_lists([("fr", 7), ("de", 10), ("fr", 7)], None, None)
    form = b'[[["string","de"],["integer","10"]],[["string","fr"],["integer","7"]]]'
    assert composite.public_sha256 == hashlib.sha256(form).hexdigest()
    assert (
        read_lists(pl.Series([7], dtype=pl.UInt8), None, None).public_sha256
        == read_lists([7], [], None).public_sha256
    )
    assert read_lists(["7"], None, None).public_sha256 != read_lists([7], None, None).public_sha256


def test_digests_are_those_of_what_the_tokenizer_makes() -> None:
    rule = text_rule(True)
    given, plain = read_lists(["The", "CAT"], ["Dog"], rule), read_lists(["cat", "the", "the"], ["dog"], rule)
    assert given.public_sha256 == plain.public_sha256
    assert given.excluded_sha256(b"") == plain.excluded_sha256(b"")
    assert given.excluded_sha256(b"a") != given.excluded_sha256(b"b")


@pytest.mark.parametrize(
    "value",
    [
        True,
        b"\xff",
        datetime.date(2020, 1, 2),
        datetime.timedelta(seconds=1),
        datetime.datetime(2020, 1, 2, 3),
    ],
)
def test_items_of_every_type_have_a_digest(value: Any) -> None:
    listed = read_lists([value, value], None, None)
    assert listed.public_count == 1
    assert listed.public_sha256 != read_lists([str(value)], None, None).public_sha256


def test_no_list_has_no_digest_and_an_empty_one_has() -> None:
    assert read_lists(None, None, None).public_sha256 is None
    assert read_lists(None, None, None).excluded_sha256(b"") is None
    assert read_lists([], None, text_rule(True)).public_sha256 == hashlib.sha256(b"[]").hexdigest()
    assert read_lists([], None, None).public_count == 0


@pytest.mark.parametrize("algorithm", PRIVATE)
def test_counts_are_close_and_in_the_statement(algorithm: str) -> None:
    items = 1 if algorithm == "optimal-single" else 3
    data = {n: (["and"] if n % 3 == 0 or items == 1 else ["and", "of"]) for n in range(4000)}
    release = dpsu.release(
        data, **PRIVACY, max_items=items, algorithm=algorithm, counts=True, public_items=["zebra"]
    )
    assert release.statement is not None
    counts, sigma = release.counts, release.statement.parameters["counts"]["sigma"]
    assert counts is not None
    true = {"and": 4000, "of": 2666, "zebra": 0}
    assert set(counts) == set(release.items)
    assert all(abs(counts[item] - true[item]) < 8 * sigma for item in counts)
    assert release.to_polars().columns == ["item", "holders", "half_width"]
    found = dpsu.verify(release.statement)
    assert found.ok, str(found)


def test_counts_have_the_noise_that_is_stated_and_public_ones_too() -> None:
    """Without noise on items that nobody holds, their exact zero would speak."""
    public = [f"public {n}" for n in range(2000)]
    with seeded(4):
        release = dpsu.release(
            DATA, **PRIVACY, max_items=3, counts=dpsu.Counts(raw=True), public_items=public
        )
    counts = release.counts
    assert release.statement is not None
    assert counts is not None
    sigma = release.statement.parameters["counts"]["sigma"]
    noise = np.array([counts[item] for item in public])
    assert noise.std() == pytest.approx(sigma, rel=0.1)
    assert abs(noise.mean()) < 5 * sigma / np.sqrt(len(public))


def test_counts_are_off_unless_asked_for() -> None:
    release = dpsu.release(DATA, **PRIVACY, max_items=3)
    assert release.counts is None
    assert release.to_polars().columns == ["item"]


def test_counts_take_their_share_of_the_squared_mu() -> None:
    mechanism, counting = share_with_counts(
        find("focused-gaussian"), Request(1.0, 1e-6, 30), CountingTerms(0.2)
    )
    budget = mechanism.budget()
    assert budget is not None
    assert counting.budget.mu**2 / (budget.mu**2 + counting.budget.mu**2) == pytest.approx(0.2)
    assert budget.compose(counting.budget).delta(1.0) <= 1e-6


def test_an_item_column_called_holders_is_refused_with_counts() -> None:
    frame = pl.DataFrame({"user": range(400), "holders": ["x"] * 400})
    with pytest.raises(InvalidArgument, match="holders"):
        dpsu.release(frame, user="user", item="holders", **PRIVACY, counts=True)
