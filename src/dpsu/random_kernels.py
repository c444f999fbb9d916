"""Compiled keyed functions: ChaCha20 blocks, SipHash-2-4 digests and sampling by keyed priorities.

ChaCha20 is that of RFC 8439 with its counter and nonce taken as one 128-bit address; SipHash-2-4 is that of
Aumasson and Bernstein (2012), with their 128-bit output for digests and the 64-bit one for priorities.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpsu.compiled import ZERO, kernel

Words32 = NDArray[np.uint32]
Words64 = NDArray[np.uint64]

# Blocks are computed sixteen at a time, priorities eight: one in each lane of the vector instructions.
LANES = 16
WIDE_LANES = 8

SIGMA = np.array([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574], dtype=np.uint32)

SIP_0 = np.uint64(0x736F6D6570736575)
SIP_1 = np.uint64(0x646F72616E646F6D)
SIP_2 = np.uint64(0x6C7967656E657261)
SIP_3 = np.uint64(0x7465646279746573)
SIP_128_START = np.uint64(0xEE)
SIP_128_SECOND = np.uint64(0xDD)

DIGEST_BYTES = 16
NONE, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)

DOUBLE_ROUNDS = 10
COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
QUARTER_ROUNDS = COLUMNS + DIAGONALS


def _splat(kind: Any, value: int) -> Any:
    """A constant of the integer type `kind`, in every lane where it is a vector."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def _spread(builder: Any, lanes: Any, value: Any) -> Any:
    """A vector with this value in every lane."""
    first = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, ir.IntType(32)(0))
    everywhere = _splat(ir.VectorType(ir.IntType(32), lanes.count), 0)
    return builder.shuffle_vector(first, first, everywhere)


def _rotated(builder: Any, value: Any, left: int) -> Any:
    """The word, or every lane of the vector, turned to the left by so many bits: one instruction to the compiler."""
    kind = value.type
    name = (
        f"llvm.fshl.v{kind.count}i{kind.element.width}"
        if isinstance(kind, ir.VectorType)
        else f"llvm.fshl.i{kind.width}"
    )
    function = ir.FunctionType(kind, [kind] * 3)
    shift = cgutils.get_or_insert_function(builder.module, function, name)  # type: ignore[no-untyped-call]
    return builder.call(shift, [value, value, _splat(kind, left)])


def _chacha_ir(
    typing: Any,
    size: Any,
    start: Any,
    addresses: Any,
    base: Any,
    first: Any,
    count: Any,
    width: Any,
    words: Any,
) -> Any:
    """The blocks at LANES of `size` rows of `addresses` from `base` on; of each, `count` 64-bit words from `first` on.

    They go to the rows of `words`, a row for each, of `width` words, which is a multiple of LANES. Written in the compiler's
    own terms because it does not find the vectors in a loop over lanes, and takes seconds to find that out.
    """
    word, index = ir.IntType(32), ir.IntType(64)
    lanes = ir.VectorType(word, LANES)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size, start, places, base, first, count, width, output = arguments
        state = cgutils.alloca_once(builder, lanes, size=16)  # type: ignore[no-untyped-call]
        rows = [builder.gep(state, [index(row)]) for row in range(16)]
        last_rows = builder.bitcast(rows[12], word.as_pointer())
        left = builder.sub(size, base)
        filled = builder.select(builder.icmp_signed("<", left, index(LANES)), left, index(LANES))
        with cgutils.for_range(builder, filled) as loop:
            place = builder.shl(builder.add(base, loop.index), index(2))
            for column in range(4):
                value = builder.load(builder.gep(places, [builder.add(place, index(column))]))
                lane = builder.add(loop.index, index(LANES * column))
                builder.store(value, builder.gep(last_rows, [lane]))
        known = [builder.load(builder.gep(start, [index(row)])) for row in range(12)]
        before = [_spread(builder, lanes, value) for value in known]
        before += [builder.load(row) for row in rows[12:]]
        for value, row in zip(before, rows, strict=True):
            builder.store(value, row)
        with cgutils.for_range(builder, index(DOUBLE_ROUNDS)):
            x = [builder.load(row) for row in rows]
            for a, b, c, d in QUARTER_ROUNDS:
                for target, addend, mixed, left in (a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7):
                    x[target] = builder.add(x[target], x[addend])
                    x[mixed] = _rotated(builder, builder.xor(x[mixed], x[target]), left)
            for value, row in zip(x, rows, strict=True):
                builder.store(value, row)
        for value, row in zip(before, rows, strict=True):
            builder.store(builder.add(builder.load(row), value), row)
        order = [lane + half for lane in range(LANES) for half in (0, LANES)]
        in_turns = ir.Constant(ir.VectorType(word, 2 * LANES), order)
        with cgutils.for_range(builder, count) as loop:
            half = builder.shl(builder.add(first, loop.index), index(1))
            low = builder.load(builder.gep(state, [half]))
            high = builder.load(builder.gep(state, [builder.add(half, index(1))]))
            place = builder.add(builder.mul(loop.index, width), base)
            place = builder.gep(output, [builder.shl(place, index(1))])
            pairs = builder.shuffle_vector(low, high, in_turns)
            builder.store(pairs, builder.bitcast(place, pairs.type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(size, start, addresses, base, first, count, width, words), build


_chacha: Any = intrinsic(_chacha_ir)


def chacha_words(key: Words32, addresses: Words64, first: int, count: int) -> Words64:
    """Of the ChaCha20 block at each 128-bit address, the 64-bit words `first` to `first + count - 1`.

    `key` has eight words, `addresses` two per row; the standard's block counter is the low half of the first. The words
    have a row for each address, and lie column by column: mostly one is needed of every block.
    """
    size = len(addresses)
    width = -(-size // LANES) * LANES
    words = np.empty((count, 2 * width), dtype="<u4")
    halves = addresses.astype("<u8", copy=False).view("<u4")
    _chacha_blocks(size, np.concatenate([SIGMA, key]), halves, first, count, width, words)
    return words.view("<u8")[:, :size].T


@kernel
def _chacha_blocks(
    size: int, start: Words32, addresses: Words32, first: int, count: int, width: int, words: Words32
) -> None:
    """Fill `words` with those from `first` on of the blocks that begin as `start` does and end with rows of `addresses`."""
    for base in range(0, size, LANES):
        _chacha(size, start, addresses, base, first, count, width, words)


def _sip_rounds(builder: Any, v: list[Any], rounds: int) -> None:
    """Rounds of SipHash on the four words (or vectors of words) of `v`, which are replaced."""

    def mix(a: int, b: int, left: int) -> None:
        v[a] = builder.add(v[a], v[b])
        v[b] = builder.xor(_rotated(builder, v[b], left), v[a])

    for _ in range(rounds):
        mix(0, 1, 13)
        mix(2, 3, 16)
        v[0] = _rotated(builder, v[0], 32)
        mix(2, 1, 17)
        mix(0, 3, 21)
        v[2] = _rotated(builder, v[2], 32)


def _sip_absorb_word(builder: Any, v: list[Any], word: Any) -> None:
    v[3] = builder.xor(v[3], word)
    _sip_rounds(builder, v, 2)
    v[0] = builder.xor(v[0], word)


def _sip_digest_ir(
    typing: Any, data: Any, start: Any, stop: Any, key0: Any, key1: Any, digests: Any, row: Any
) -> Any:
    """Write SipHash-2-4 with 128 bits of output of the bytes from `start` to `stop`; `data` has eight bytes at least."""
    word_type = ir.IntType(64)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bytes_of, start, stop, *keys, output, row = arguments

        def word_at(place: Any) -> Any:
            pointer = builder.bitcast(builder.gep(bytes_of, [place]), word_type.as_pointer())
            word = builder.load(pointer, align=1)
            return word if sys.byteorder == "little" else builder.bswap(word)

        starts = (SIP_0, SIP_1 ^ SIP_128_START, SIP_2, SIP_3)
        state = [
            cgutils.alloca_once_value(builder, builder.xor(key, word_type(int(word))))  # type: ignore[no-untyped-call]
            for key, word in zip(keys * 2, starts, strict=True)
        ]
        size = builder.sub(stop, start)
        with cgutils.for_range(builder, builder.lshr(size, word_type(3))) as loop:
            v = [builder.load(part) for part in state]
            place = builder.add(start, builder.shl(loop.index, word_type(3)))
            _sip_absorb_word(builder, v, word_at(place))
            for value, part in zip(v, state, strict=True):
                builder.store(value, part)
        v = [builder.load(part) for part in state]

        # The up to seven bytes that are left, out of eight that end with them, or of the first eight of all.
        early = builder.icmp_signed("<", stop, word_type(8))
        place = builder.select(early, word_type(0), builder.sub(stop, word_type(8)))
        bits_left = builder.shl(builder.and_(size, word_type(7)), word_type(3))
        beyond = builder.sub(word_type(64), builder.shl(builder.sub(stop, place), word_type(3)))
        above = builder.sub(word_type(64), bits_left)
        low_6 = word_type(63)
        last = builder.shl(word_at(place), builder.and_(beyond, low_6))
        last = builder.lshr(last, builder.and_(above, low_6))
        empty = builder.icmp_unsigned("==", bits_left, word_type(0))
        last = builder.select(empty, word_type(0), last)
        _sip_absorb_word(builder, v, builder.or_(last, builder.shl(size, word_type(56))))

        for half, (place_of_mark, mark) in enumerate(((2, SIP_128_START), (1, SIP_128_SECOND))):
            v[place_of_mark] = builder.xor(v[place_of_mark], word_type(int(mark)))
            _sip_rounds(builder, v, 4)
            word = builder.xor(builder.xor(v[0], v[1]), builder.xor(v[2], v[3]))
            at = builder.add(builder.shl(row, word_type(1)), word_type(half))
            builder.store(word, builder.gep(output, [at]))
        return context.get_dummy_value()

    arguments = (data, types.int64, types.int64, types.uint64, types.uint64, digests, types.int64)
    return types.void(*arguments), build


_sip_digest: Any = intrinsic(_sip_digest_ir)


def digest_bytes(offsets: NDArray[np.int64], data: NDArray[np.uint8], key: Words64) -> Words64:
    """The 128-bit digest of each of the strings `data[offsets[i]:offsets[i + 1]]`, as two words."""
    digests = np.empty((offsets.shape[0] - 1, 2), dtype=np.uint64)
    if data.size < 8:
        data = np.concatenate([data, np.zeros(8, np.uint8)])
    _digest_bytes(len(digests), offsets, data, key[0], key[1], digests)
    return digests


@kernel
def _digest_bytes(
    size: int,
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    key0: np.uint64,
    key1: np.uint64,
    digests: Words64,
) -> None:
    for i in range(size):
        _sip_digest(data, offsets[i], offsets[i + 1], key0, key1, digests, i)


def digest_words(rows: Words64, key: Words64) -> Words64:
    """The 128-bit digest of each row of 64-bit words, read as little-endian bytes."""
    offsets = np.arange(rows.shape[0] + 1, dtype=np.int64) * (8 * rows.shape[1])
    return digest_bytes(offsets, np.ascontiguousarray(rows, dtype="<u8").reshape(-1).view(np.uint8), key)


def digest_integers(values: NDArray[np.int64], key: Words64) -> Words64:
    """The 128-bit digest of each integer's eight little-endian bytes."""
    words = np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)
    return digest_words(words.reshape(-1, 1), key)


def digest_concatenated(columns: list[Words64], key: Words64) -> Words64:
    """The digest of a composite key: of the digests of its columns, one after the other."""
    return digest_words(np.hstack(columns), key)


def _priorities_ir(
    typing: Any, key0: Any, key1: Any, items: Any, first: Any, size: Any, digests: Any, priorities: Any
) -> Any:
    """SipHash-2-4 under one key of the digests of `size` items from `first` on; there is room for whole vectors."""
    index, word = ir.IntType(64), ir.IntType(64)
    lanes = ir.VectorType(word, WIDE_LANES)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *keys, items, first, size, halves, output = arguments
        row = builder.gep(items, [first])

        def message(start: Any) -> list[Any]:
            """Both halves of the digests of the items from `start` on, the last again for lanes beyond the row."""
            vectors = [ir.Constant(lanes, ir.Undefined)] * 2
            for lane in range(WIDE_LANES):
                place = builder.add(start, index(lane))
                inside = builder.icmp_signed("<", place, size)
                place = builder.select(inside, place, builder.sub(size, index(1)))
                item = builder.zext(builder.load(builder.gep(row, [place])), index)
                for half in range(2):
                    at = builder.add(builder.shl(item, index(1)), index(half))
                    value = builder.load(builder.gep(halves, [at]))
                    vectors[half] = builder.insert_element(vectors[half], value, ir.IntType(32)(lane))
            return vectors

        keys = [_spread(builder, lanes, key) for key in keys] * 2
        blocks = builder.lshr(builder.add(size, index(WIDE_LANES - 1)), index(WIDE_LANES.bit_length() - 1))
        with cgutils.for_range(builder, blocks) as loop:
            start = builder.mul(loop.index, index(WIDE_LANES))
            starts = (SIP_0, SIP_1, SIP_2, SIP_3)
            v = [builder.xor(key, _splat(lanes, int(word))) for key, word in zip(keys, starts, strict=True)]
            for words in (*message(start), _splat(lanes, DIGEST_BYTES << 56)):
                _sip_absorb_word(builder, v, words)
            v[2] = builder.xor(v[2], _splat(lanes, 0xFF))
            _sip_rounds(builder, v, 4)
            value = builder.xor(builder.xor(v[0], v[1]), builder.xor(v[2], v[3]))
            place = builder.bitcast(builder.gep(output, [start]), lanes.as_pointer())
            builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, items, first, size, digests, priorities), build


_priorities: Any = intrinsic(_priorities_ir)


def long_rows(indptr: NDArray[np.int64], max_items: int) -> NDArray[np.int64]:
    """The rows that have to be cut."""
    return np.flatnonzero(np.diff(indptr) > max_items)


def sample_rows(
    indptr: NDArray[np.int64],
    items: NDArray[np.uint32],
    long: NDArray[np.int64],
    user_keys: Words64,
    item_digests: Words64,
    max_items: int,
    held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Cut the `long` rows to `max_items` of their items, uniformly without replacement, and mark what any row has in `held`.

    Those items are kept whose priority is smallest, the earlier ones in the row where priorities tie; a priority is
    SipHash-2-4 of the item's digest under the user's key: `user_keys` has a row for each that is cut. A row keeps its order.
    `indptr` may be a slice of a longer one: its offsets point into all of `items`, those returned start at 0.
    """
    sizes = np.diff(indptr)
    new_indptr = np.concatenate([[0], np.cumsum(np.minimum(sizes, max_items))])
    kept = np.empty(new_indptr[-1], dtype=items.dtype)
    priorities = np.empty(sizes.max(initial=0) + WIDE_LANES, np.uint64)
    stops, keys = np.append(long, len(sizes)), np.ascontiguousarray(user_keys)
    _sample(len(long), indptr, items, stops, keys, item_digests, max_items, kept, held, priorities)
    return new_indptr, kept


@kernel
def _sample(
    cut: int,
    indptr: Any,
    items: Any,
    stops: Any,
    user_keys: Any,
    item_digests: Any,
    max_items: Any,
    kept: Any,
    held: Any,
    priorities: Any,
) -> None:
    """Copy what lies before each row of `stops`, and the items of it whose priorities are smallest; the last is none."""
    place, done = ZERO, indptr[0]
    for number in range(cut + 1):
        start = indptr[stops[number]]
        for k in range(done, start):
            item = items[k]
            kept[place] = item
            held[item] = True
            place += 1
        if number == cut:
            return
        done = indptr[stops[number] + 1]
        size = done - start
        key0, key1 = user_keys[2 * number], user_keys[2 * number + 1]
        _priorities(key0, key1, items, start, size, item_digests, priorities)
        # Between bounds of the last priority that is kept: priorities are spread evenly, so that about log2(size) steps part
        # the smallest from the others. If they tie there, the bounds meet at them.
        low, last = NONE, ALL
        inside, below = size, ZERO
        while (low < last) & (inside != max_items):
            middle = low + ((last - low) >> ONE)
            inside = ZERO
            for k in range(size):
                inside += priorities[k] <= middle
            if inside < max_items:
                low = middle + ONE
                below = inside
            else:
                last = middle
        # Of those that equal the last there is room for so many beside the smaller ones: for all, unless the bounds met.
        ties = max_items - below
        # Every item is written, and the place moves on past the kept ones only: a branch on a random bit costs more than a
        # wasted store.
        k, stop = ZERO, place + max_items
        while place < stop:
            item = items[start + k]
            kept[place] = item
            tie = (priorities[k] == last) & (ties > 0)
            ties -= tie
            taken = (priorities[k] < last) | tie
            held[item] |= taken
            place += taken
            k += 1
