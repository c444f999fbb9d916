"""One period of a series as a job: what it carries in from the state, and what it carries on."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsu.algorithms.job import Chosen, Job, Promise, Tell, tell_round
from dpsu.algorithms.lists import digests_of
from dpsu.algorithms.series import SeriesMechanism
from dpsu.engines.contract import Engine
from dpsu.errors import InvalidArgument, SeriesError
from dpsu.outcome.series_state import PERIOD, TOTAL, State, Writer
from dpsu.outcome.statement import Statement
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests, detached, digest_order

if TYPE_CHECKING:
    from dpsu.algorithms.public_items import Listed
    from dpsu.outcome.ledger import Ledger
    from dpsu.sources.source import Source

PROOF = "docs/series.md"


class SeriesJob(Job):
    """The next period of a series. `header` becomes the header of the next state."""

    def __init__(self, mechanism: SeriesMechanism, period: int, state: State, writer: Writer) -> None:
        self._mechanism, self._period, self._state, self._writer = mechanism, period, state, writer
        self._header = dict(state.header)
        self._released: pl.DataFrame | None = None
        self.stream = Stream(bytes.fromhex(self._header["key"]), self._header["seeded"])
        self.promise = promise_of_series(mechanism, self._header["id"], period)

    def read(self, engine: Engine, source: "Source", lists: "Listed", stream: Stream) -> Any:
        """The sets of this period, whose items must be made, named and typed as before."""
        text, earlier = _text_of(source), self._header["text"]
        if earlier is not None and text != earlier:
            raise SeriesError(
                f"the items of this series are {_rule_in_words(earlier)}; those of this source are "
                f"{_rule_in_words(text)}. A series needs the same tokenizer and ngrams in every period."
            )
        sets = super().read(engine, source, lists, stream)
        types = {name: str(dtype) for name, dtype in engine.item_types(sets).items()}
        if taken := sorted({TOTAL, PERIOD} & types.keys()):
            raise InvalidArgument(f"an item column of a series cannot have the name {taken[0]!r}: rename it.")
        if sets.n_items or self._header["types"] is None:
            before = self._header["types"] or types
            # The order counts: it is part of the digest of a composite key.
            if [*types.items()] != [*before.items()]:
                raise SeriesError(
                    f"the items of this series are {_in_words(before)}; those of this source are {_in_words(types)}. "
                    "A series needs the same columns in the same order, with the same types, in every period."
                )
            self._header["types"] = types if sets.n_items else self._header["types"]
            self._header["text"] = text if sets.n_items else self._header["text"]
        return sets

    def select(self, engine: Engine, sets: Any, lists: "Listed", stream: Stream, tell: Tell) -> Chosen:
        """Match the state's items with those of this period, play the rounds, and write what goes on."""
        tell("weighing and deciding")
        engine.on_round = partial(tell_round, tell)
        mechanism, period = self._mechanism, self._period
        before = self._state.released()
        opened = sets
        if before is not None:
            opened = engine.leave_out(sets, digests_of(before.drop(PERIOD), stream))
        items = mechanism.begin(engine, sets, stream, period, self._header["done"])
        found = Places(items["digest"])
        places, totals, out = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
        for part in self._state.open_items():
            names, carried = part.drop(TOTAL), part[TOTAL].to_numpy()
            digests = digests_of(names, stream)
            place = found.of(digests)
            here = place >= 0
            places.append(place[here])
            totals.append(carried[here])
            resting = mechanism.rest(digests[~here], carried[~here], stream, period)
            left = names.filter(~here).with_columns(pl.Series(TOTAL, resting["noisy"]))
            out.append(left.filter(resting["released"]).drop(TOTAL))
            self._writer.add_open(left.filter(~resting["released"]))
        items = mechanism.bring(items, np.concatenate(places), np.concatenate(totals))
        items = mechanism.play(engine, opened, items, stream, period)
        tell("decoding")
        kept = np.flatnonzero(items["exists"] & ~items["released"]).astype(np.uint32)
        self._writer.add_open(sets.names.decode(kept, {TOTAL: items["noisy"][kept]}))
        new = engine.names(sets, items)
        more = [frame for frame in out if frame.height]
        # A source without rows may have another type, and then has no items either.
        new = detached(pl.concat([*([new] if new.height or not more else []), *more]).sort(new.columns))
        marked = new.with_columns(pl.lit(period, pl.UInt32).alias(PERIOD))
        both = [frame for frame in (before, marked) if frame is not None and frame.height]
        self._released = pl.concat(both) if both else None
        return Chosen(new)

    def commit(self, statement: Statement | None, ledger: "Ledger | None", number: int) -> None:
        """First the state, then the ledger; the output leaves after both."""
        assert statement is not None
        told = {
            name: value for name, value in statement.to_dict().items() if name not in ("parameters", "digest")
        }
        header = {
            **self._header,
            "done": [*self._header["done"], self._period],
            "before": self._state.seal,
            "statements": {**self._header["statements"], str(self._period): told},
        }
        seal = self._writer.commit(header, self._released)
        if ledger is not None:
            ledger.note_period(number, self._period, seal, self._state.seal)

    def mechanism(self) -> SeriesMechanism:
        """The series."""
        return self._mechanism

    def when_empty(self) -> str:
        """The message for a period without new items."""
        return (
            f"period {self._period} has no new items. What its users gave is kept and counts in later periods; "
            "`dpsu series plan` shows how many users an item needs by the end of each period."
        )


class Places:
    """Finds digests in a table: by the first word, and then by the second."""

    def __init__(self, digests: Digests) -> None:
        self._order = digest_order(digests)
        self._digests = digests[self._order]

    def of(self, digests: Digests) -> NDArray[np.int64]:
        """The row of each digest in the table, or -1."""
        if not len(self._digests):
            return np.full(len(digests), -1, np.int64)
        place = np.searchsorted(self._digests[:, 0], digests[:, 0])
        found = np.full(len(digests), -1, np.int64)
        waiting = np.arange(len(digests))
        while waiting.size:  # more than once only where first words are equal and second words differ
            at = place[waiting]
            waiting, at = waiting[at < len(self._digests)], at[at < len(self._digests)]
            same_first = self._digests[at, 0] == digests[waiting, 0]
            same = same_first & (self._digests[at, 1] == digests[waiting, 1])
            found[waiting[same]] = self._order[at[same]]
            waiting = waiting[same_first & ~same]
            place[waiting] += 1
        return found


def promise_of_series(mechanism: SeriesMechanism, name: str, period: int) -> Promise:
    """The one promise of all periods, told about one of them."""
    request = mechanism.request
    return Promise(
        kind="series",
        algorithm="focused-gaussian",
        calibration=request.calibration,
        epsilon=request.epsilon,
        delta=request.delta,
        max_items=request.max_items,
        parameters={**mechanism.parameters(), "series": name, "period": period},
        budget=mechanism.budget(),
        proof=PROOF,
    )


def _text_of(source: "Source") -> dict[str, Any]:
    """How text becomes items; empty if the items are given. Functions are known by their names alone."""
    told = source.described()
    return {name: told[name] for name in ("tokenizer", "ngrams") if name in told}


def _rule_in_words(text: dict[str, Any]) -> str:
    if not text:
        return "given, not made from text"
    tokenizer = text["tokenizer"]
    return f"made from text (tokenizer: {tokenizer['kind']} {tokenizer['name']!r}, ngrams {text['ngrams']})"


def _in_words(types: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({dtype})" for name, dtype in types.items())
