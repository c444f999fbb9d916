"""Names become numbers and come back as they were; nothing of one release is in another."""

import datetime as dt
import decimal
import gc
import io
import pickle
import weakref

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsu.errors import SourceError
from dpsu.randomness.digests import digest_bytes, digest_concatenated, digest_integers
from dpsu.randomness.stream import Stream
from dpsu.sets import keys as encode
from dpsu.sets.hash_table import KeyTable
from dpsu.sets.strings import INLINE, strings_of, views_of
from dpsu.sets.user_sets import digest_order
from dpsu.sources import pairs as read
from dpsu.sources.pairs import read_sets

STREAM = Stream(bytes(range(32)), seeded=True)


def decoded(sets):
    """The sets as Python sees them: a sorted list of each user's items; users have no names any more."""
    by_code = [sets.names.decode([code]).row(0) for code in range(sets.n_items)]
    assert sets.names.decode(np.arange(sets.n_items)).rows() == sorted(by_code)
    return sorted(
        sorted(by_code[code] for code in sets.items[start:end])
        for start, end in zip(sets.indptr, sets.indptr[1:], strict=False)
    )


def by_dictionary(pairs):
    rows = {}
    for user, item in pairs:
        rows.setdefault(user, set()).add(item)
    return sorted(sorted(row) for row in rows.values())


keys = st.one_of(
    st.just(st.integers(-(2**63), 2**63 - 1)), st.just(st.integers(0, 9)), st.just(st.text(max_size=20))
)


@given(keys.flatmap(lambda user: keys.flatmap(lambda item: st.lists(st.tuples(user, item), max_size=60))))
@settings(max_examples=50, deadline=None)
def test_sets_are_those_of_a_dictionary(pairs):
    sets = read_sets([(user, [item]) for user, item in pairs], stream=STREAM)
    assert decoded(sets) == by_dictionary((user, (item,)) for user, item in pairs)
    assert sets.items.dtype == np.uint32
    assert sets.indptr.dtype == np.int64
    for start, end in zip(sets.indptr, sets.indptr[1:], strict=False):
        digests = sets.item_digests[sets.items[start:end]].tolist()
        assert digests == sorted(digests)
    assert sets.user_digests.tolist() == sorted(sets.user_digests.tolist())
    assert list(dict.fromkeys(sets.items.tolist())) == list(range(sets.n_items))  # numbered as they appear


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(0, 3), st.booleans()), max_size=40
    )
)
@settings(max_examples=50, deadline=None)
def test_composite_keys_are_tuples(rows):
    schema = {"user": pl.Int64, "a": pl.String, "b": pl.Int16, "c": pl.Boolean}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    sets = read_sets(frame, user="user", item=["a", "b", "c"], stream=STREAM)
    assert decoded(sets) == by_dictionary((row[0], row[1:]) for row in rows)
    sets = read_sets(frame, user=["user", "c"], item=["b", "a"], stream=STREAM)
    assert decoded(sets) == by_dictionary(((row[0], row[3]), (row[2], row[1])) for row in rows)
    assert sets.names.decode([]).schema == {"b": pl.Int16, "a": pl.String}


DATES = [dt.date(1900, 1, 1), dt.date(2024, 2, 29)]
TIMES = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2024, 3, 31, 2, 30)]
COLUMNS = [
    pl.Series([-128, 127], dtype=pl.Int8),
    pl.Series([0, 2**16 - 1], dtype=pl.UInt16),
    pl.Series([-(2**31), 2**31 - 1], dtype=pl.Int32),
    pl.Series([0, 2**32 - 1], dtype=pl.UInt32),
    pl.Series([-(2**63), 2**63 - 1], dtype=pl.Int64),
    pl.Series([0, 2**64 - 1], dtype=pl.UInt64),
    pl.Series([-(2**127), 2**127 - 1], dtype=pl.Int128),
    pl.Series([False, True]),
    pl.Series(DATES),
    pl.Series(TIMES, dtype=pl.Datetime("ns")),
    pl.Series(TIMES, dtype=pl.Datetime("ms")),
    pl.Series(TIMES, dtype=pl.Datetime("us", "UTC")),
    pl.Series([dt.time(0), dt.time(23, 59, 59, 999_999)]),
    pl.Series([dt.timedelta(-1), dt.timedelta(microseconds=1)]),
    pl.Series(["", "\0nul and ünïcödé that is long"]),
    pl.Series([b"", b"\xff\0 not text, and longer than twelve"]),
    pl.Series([decimal.Decimal("-0.10"), decimal.Decimal("99.99")], dtype=pl.Decimal(10, 2)),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.dtype))
def test_types_come_back(column):
    frame = pl.DataFrame({"name": column.reverse(), "user": [1, 2]})
    names = read_sets(frame, user="user", item="name", stream=STREAM).names
    assert names.decode([0, 1]).equals(pl.DataFrame({"name": column}).sort("name"))
    assert names.decode([0, 1])["name"].dtype == column.dtype
    assert read_sets(frame, user="name", item="user", stream=STREAM).n_users == 2


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["tea", "unreleased", "milk"])])
def test_categories_come_back_as_strings(dtype):
    """A categorical column would carry the names of all its categories out with it."""
    frame = pl.DataFrame({"user": [1, 2, 3], "word": pl.Series(["tea", "unreleased", "milk"], dtype=dtype)})
    sets = read_sets(frame, user="user", item="word", stream=STREAM)
    codes = [code for code in range(3) if sets.names.decode([code]).item() != "unreleased"]
    assert sets.names.decode(codes)["word"].dtype == pl.String
    assert sets.names.decode(codes)["word"].to_list() == ["milk", "tea"]


def test_digests_are_those_of_the_canonical_bytes():
    key = STREAM.digest_key
    text = digest_bytes(np.array([0, 3]), np.frombuffer(b"tea", dtype=np.uint8), key)
    number = digest_integers(np.array([-7]), key)
    frame = pl.DataFrame({"user": pl.Series([-7], dtype=pl.Int8), "word": ["tea"]})
    sets = read_sets(frame, user="user", item="word", stream=STREAM)
    assert (sets.item_digests == text).all()
    assert (sets.user_digests == number).all()
    pair = read_sets(frame.with_columns(u=1), user="u", item=["word", "user"], stream=STREAM)
    assert (pair.item_digests == digest_concatenated([text, number], key)).all()


def test_the_order_of_rows_does_not_matter(monkeypatch):
    monkeypatch.setattr(read, "BATCH_ROWS", 1000)
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"user": rng.integers(0, 500, 20_000), "n": rng.zipf(1.3, 20_000) % 10_000})
    frame = frame.with_columns(item=pl.format("a rather long item {}", "n"))
    expected = read_sets(frame, user="user", item="item", stream=STREAM)
    shuffled = read_sets(
        frame.sample(fraction=1, shuffle=True, seed=1), user="user", item="item", stream=STREAM
    )
    np.testing.assert_array_equal(shuffled.indptr, expected.indptr)
    np.testing.assert_array_equal(shuffled.items, expected.items)
    assert expected.indptr[-1] == frame.select("user", "item").n_unique()
    assert expected.n_items == frame["item"].n_unique()


def test_tables_grow_and_keep_their_codes():
    keys = np.random.default_rng(1).permutation(100_000).astype(np.uint64) << np.uint64(40)
    table = KeyTable(seed=3)
    for half in np.split(keys, 2):
        table.encode(half)
    fresh = KeyTable(seed=4).number(np.tile(keys, 2), np.empty(200_000, np.uint32))
    np.testing.assert_array_equal(fresh, np.arange(100_000))
    np.testing.assert_array_equal(table.encode(keys), np.arange(100_000))
    np.testing.assert_array_equal(table.keys, keys)


@pytest.mark.parametrize("words", [1, 2])
def test_tables_travel_as_their_keys(words):
    keys = np.random.default_rng(2).permutation(10_000).astype(np.uint64).reshape(-1, words)
    table = KeyTable(seed=3, words=words)
    codes = table.encode(keys)
    moved = pickle.dumps(table)
    assert len(moved) < 2 * keys.nbytes
    arrived = pickle.loads(moved)
    np.testing.assert_array_equal(arrived.keys, table.keys)
    np.testing.assert_array_equal(arrived.encode(keys), codes)
    assert arrived.encode(keys[:1] + np.uint64(1 << 40)).tolist() == [len(keys)]


@pytest.mark.parametrize("words", [1, 2])
@given(st.data())
@settings(deadline=None, max_examples=50)
def test_keys_are_numbered_as_they_appear(words, data):
    one = st.tuples(*[st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])] * words)
    batches = data.draw(st.lists(st.lists(one, max_size=12), max_size=4))
    table, seen = KeyTable(seed=5, words=words), {}
    for batch in batches:
        before = len(seen)
        expected = [seen.setdefault(key, len(seen)) for key in batch]
        keys, codes = np.array(batch, np.uint64).reshape(-1, words), np.empty(len(batch), np.uint32)
        fresh = table.number(keys, codes)
        assert codes.tolist() == expected
        assert fresh.tolist() == [expected.index(code) for code in range(before, len(seen))]
    assert np.reshape(table.keys, (-1, words)).tolist() == [list(key) for key in seen]


@given(
    parts=st.lists(st.lists(st.text(max_size=16), max_size=6), max_size=4),
    binary=st.booleans(),
    start=st.integers(0, 5),
)
@settings(deadline=None)
def test_views_have_lengths_and_short_strings_whole(parts, binary, start):
    """However the column is cut into pieces, and whatever slice of it is taken."""
    text = pl.concat([pl.Series("text", part, dtype=pl.String) for part in [[], *parts]], rechunk=False)
    text = text.cast(pl.Binary)[start:] if binary else text[start:]
    views = np.concatenate([np.zeros((0, 2), np.uint64), *(part.copy() for part in views_of(text))])
    assert views.shape == (len(text), 2)
    for view, value in zip(views, text.to_list(), strict=True):
        content = value if binary else value.encode()
        assert int(view.view(np.uint32)[0]) == len(content)
        held = view.tobytes()[4:]
        assert held == content.ljust(INLINE, b"\0") if len(content) <= INLINE else held[:4] == content[:4]
    contents = [value if binary else value.encode() for value in text.to_list()]
    assert strings_of(views).to_list() == [value if len(value) <= INLINE else b"" for value in contents]


def strays():
    """Arrow wants zeros behind a short string; a frame from elsewhere may have something else there."""
    views = np.zeros((4, 16), np.uint8)
    for row, content in enumerate((b"a", b"bc", b"a", b"")):
        views[row, 0] = len(content)
        views[row, 4 : 4 + len(content)] = list(content)
    views[2, 9], views[3, 15] = 7, 1
    return pl.Series(pa.Array.from_buffers(pa.string_view(), 4, [None, pa.py_buffer(views.tobytes())]))


def test_strings_with_stray_bytes_behind_them_are_one_item():
    column, strings = encode.TextColumn(pl.String(), seed=3), strays()
    assert column.encode(pl.Series(["bc", "", "a string of more than twelve bytes"])).tolist() == [0, 1, 2]
    assert column.encode(strings).tolist() == [3, 0, 3, 1]
    assert column.encode(strings[::-1]).tolist() == [1, 3, 0, 3]
    assert column.names().cast(pl.String).to_list() == ["bc", "", "a string of more than twelve bytes", "a"]


def test_views_outlive_what_they_were_taken_from():
    """As long as no further part is asked for, whoever made the column may drop it."""
    text = pl.Series(["short", "a string that is longer than twelve bytes"] * 1000)
    parts = views_of(text)
    views = next(parts)
    del text
    gc.collect()
    assert (views[::2] == views[0]).all()
    assert next(parts, None) is None


def test_colliding_hashes_never_merge_two_items(monkeypatch):
    """The first seeds hash by length alone; each collision must be seen and cured by another seed."""
    honest = pl.Series.hash
    calls = []

    def weak(text, seed):
        calls.append(seed)
        return text.bin.size().cast(pl.UInt64) if seed < 12 else honest(text, seed)

    monkeypatch.setattr(pl.Series, "hash", weak)
    column = encode.TextColumn(pl.String(), seed=10)
    long = {name: name * 13 for name in ("a", "b", "c", "d")} | {"bb": "b" * 14, "dd": "d" * 14}
    first, second = ["a", "bb", "x", "a"], ["bb", "c", "dd", "x", "b", "y"]
    assert column.encode(pl.Series([long.get(name, name) for name in first])).tolist() == [0, 1, 2, 0]
    assert column.encode(pl.Series([long.get(name, name) for name in second])).tolist() == [1, 3, 4, 2, 5, 6]
    names = [long.get(name, name) for name in ("a", "bb", "x", "c", "dd", "b", "y")]
    assert column.names().cast(pl.String).to_list() == names
    assert 12 in calls


VALUES = {
    "strings": pl.Series(["a", "", "a string of more than twelve bytes", "b", "ä", "twelve bytes", "a\0"]),
    "bytes": pl.Series([b"a", b"", b"\xff\0", b"more than twelve bytes of them", b"\0", b"b", b"c"]),
    "categories": pl.Series(["x", "y", "z", "x", "y", "u", "v"], dtype=pl.Categorical),
    "enumeration": pl.Series(["x", "y", "z", "x", "y", "u", "v"], dtype=pl.Enum(["v", "z", "y", "x", "u"])),
    "decimals": pl.Series(
        [decimal.Decimal(text) for text in ("1.50", "-0.25", "0", "7", "9.99", "1.5", "-7")]
    ),
    "huge": pl.Series([2**100, -(2**100), 0, 1, -1, 5, 7], dtype=pl.Int128),
    "unsigned": pl.Series([2**64 - 1, 0, 2**63, 1, 2, 3, 4], dtype=pl.UInt64),
    "small": pl.Series([-128, 127, 0, -1, 1, 2, 3], dtype=pl.Int8),
    "truth": pl.Series([True, False, True, True, False, False, True]),
    "days": pl.Series([dt.date(1969, 12, 31), *(dt.date(2020, 1, day) for day in range(1, 7))]),
    "moments": pl.Series([dt.datetime(2020, 1, 1, 0, 0, second) for second in range(7)]),
}


@pytest.mark.parametrize(
    "columns", [*([name] for name in VALUES), ["strings", "days"], ["small", "bytes", "decimals"]]
)
def test_an_encoder_takes_in_the_keys_of_another(columns):
    """Whatever their type; keys that both have seen get one code."""
    frame = pl.DataFrame({name: VALUES[name] for name in columns})
    key = bytes(range(32))
    mine, others = (encode.KeyEncoder(frame.schema, columns, key) for _ in range(2))
    mine.encode(frame[:4])
    there = others.encode(frame[2:])
    here = mine.absorb(others)
    assert mine.encode(frame[2:]).tolist() == here[there].tolist()
    assert len(mine) == frame.unique().height
    for code in range(len(others)):
        assert (
            mine.names(here.astype(np.int64))
            .decode([code])
            .equals(others.names(np.arange(len(others))).decode([code]))
        )
    assert mine.digests()[here].tolist() == others.digests().tolist()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (["a", "b"], ["b", "a string of more than twelve bytes", "c"]),
        (["a", "a string of more than twelve bytes"], ["c", "a"]),
        (["x", "a"], "stray"),
        ("stray", ["a", "bc", "y"]),
        ("stray", ["bc", "a string of more than twelve bytes"]),
    ],
)
def test_an_encoder_takes_in_keys_of_another_kind(mine, theirs):
    """Long strings, or views with something behind them, on one side only."""
    mine, theirs = (strays() if values == "stray" else pl.Series(values) for values in (mine, theirs))
    one, other = (encode.TextColumn(pl.String(), seed=3) for _ in range(2))
    one.encode(mine)
    there = other.encode(theirs)
    here = one.absorb(other)
    names = one.names().cast(pl.String).to_list()
    assert [names[code] for code in here[there]] == theirs.to_list()
    assert len(names) == len(set(mine.to_list()) | set(theirs.to_list()))


@pytest.mark.parametrize("name", [b"\xff", b"a name of many bytes, and \xff"])
def test_bytes_that_are_no_text_trouble_nobody_until_they_come_out(name):
    """Arrow does not look at what a column calls text; one user's must not stop the release of all others'."""
    binary = pa.array([name, b"tea", b"tea"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, binary.buffers())
    users, items = pa.table({"user": text, "item": ["tea"] * 3}), pa.table({"user": [1, 2, 3], "item": text})
    assert decoded(read_sets(users, user="user", item="item", stream=STREAM)) == [[("tea",)]] * 2
    sets = read_sets(items, user="user", item="item", stream=STREAM)
    (tea,) = np.flatnonzero(np.bincount(sets.items) == 2)
    assert sets.names.decode([tea]).rows() == [("tea",)]
    with pytest.raises(SourceError, match="'item'") as error:
        sets.names.decode([1 - tea])
    assert "xff" not in str(error.value)


def test_an_encoder_that_fails_is_not_waited_for(monkeypatch):
    """The error comes out, however many batches are still to come."""

    def fail(self, batch):
        raise MemoryError("no room for another batch")

    monkeypatch.setattr(read, "BATCH_ROWS", 10)
    monkeypatch.setattr(encode.PairEncoder, "encode", fail)
    frame = pl.DataFrame({"user": range(1000), "item": range(1000)})
    with pytest.raises(MemoryError, match="another batch"):
        read_sets(frame, user="user", item="item", stream=STREAM)


@given(
    digests=st.lists(
        st.tuples(
            st.sampled_from([0, 1, 5, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), st.integers(0, 3)
        ),
        unique=True,
        max_size=40,
    )
)
def test_digests_are_ordered_by_the_first_word_then_the_second(digests):
    order = digest_order(np.array(digests, np.uint64).reshape(-1, 2))
    assert [digests[number] for number in order] == sorted(digests)


def test_equal_first_words_are_ordered_by_the_second():
    digests = np.array([[5, 9], [5, 1], [2, 7], [2**64 - 1, 0]], dtype=np.uint64)
    assert digest_order(digests).tolist() == [2, 1, 0, 3]
    assert digest_order(digests[[3, 2, 0]]).tolist() == [1, 2, 0]


def test_a_second_release_knows_nothing_of_the_first():
    def sets_of(word):
        frame = pl.DataFrame({"user": range(1000), "word": [f"{word} {i % 100}" for i in range(1000)]})
        return read_sets(frame, user="user", item="word", stream=Stream.fresh())

    first, second = sets_of("the first release's word"), sets_of("another word")
    assert second.n_items == 100
    assert b"first release" not in pickle.dumps(second)
    memory = weakref.ref(first.names)
    del first
    gc.collect()
    assert memory() is None


def test_decoded_items_carry_no_others():
    words = [
        f"an unreleased word, number {i}" if i % 2 else f"a released word, number {i}" for i in range(1000)
    ]
    frame = pl.DataFrame({"user": range(1000), "word": words, "bytes": [word.encode() for word in words]})
    names = read_sets(frame, user="user", item=["word", "bytes"], stream=STREAM).names
    everything = [names.decode([code]).item(0, "word") for code in range(1000)]
    released = names.decode([code for code in range(1000) if "unreleased" not in everything[code]])
    assert released.height == 500
    ipc = io.BytesIO()
    released.write_ipc(ipc)
    assert b"unreleased" not in pickle.dumps(released)
    assert b"unreleased" not in ipc.getvalue()


def test_nothing_private_is_shown():
    sets = read_sets({"ann": ["tea"] * 3, "bob": ["milk"]}, stream=STREAM)
    assert repr(sets) == "UserSets(<private>)"
    assert repr(sets.names) == "Names(<private>)"
