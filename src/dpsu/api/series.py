"""`dpsu.Series`: releases over time under one promise."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsu.algorithms.request import DEFAULT_MAX_ITEMS, Request
from dpsu.algorithms.series import SeriesMechanism, Shares, calibrate_series, series_told
from dpsu.algorithms.series_job import SeriesJob, promise_of_series
from dpsu.engines.choose import engine_for
from dpsu.errors import DpsuError, InvalidArgument, LedgerError, SeriesError
from dpsu.hints import known_arguments
from dpsu.outcome import series_state
from dpsu.outcome.ledger import Ledger, open_ledger
from dpsu.outcome.release import LocalRelease, Release
from dpsu.outcome.series_state import PERIOD, State, Writer
from dpsu.outcome.statement import UNIT_OF_SERIES, Statement
from dpsu.randomness.stream import open_stream
from dpsu.report.progress import Progress
from dpsu.run import Terms, run
from dpsu.sources.columns import ColumnNames
from dpsu.sources.corpus import Tokenizer, UserPer
from dpsu.sources.source import Source

if TYPE_CHECKING:
    import polars as pl

    from dpsu.planning.series import SeriesPlan

NO_CANDIDATES = "Candidates are refused in a series: their false share over several periods has no proof yet."
NO_NUMBERS = (
    "A series releases items alone: counts, sums and others of several periods are not part of its promise."
)
NO_LISTS = "A series has no lists of items."
AT_CREATION = "It is fixed for all periods when the series is created."


EVEN_OR_FRONT: Mapping[str, Shares] = {"even": "even", "front": "front"}
"""The choices of shares that a plan compares by default."""


class Series:
    """Releases over a fixed number of periods, with one (epsilon, delta) for a user's data in all of them together.

    What users gave in one period counts in later periods. `Series.create` makes the state, a file that is as secret as
    the data; `Series.open` opens it. docs/series.md has the mechanism, its proof and an example.

    >>> import dpsu, tempfile
    >>> path = tempfile.mkdtemp() + "/words.series"
    >>> series = dpsu.Series.create(path, epsilon=1, delta=1e-6, periods=12, max_items=10)
    >>> january = {n: ["bread", "milk"] for n in range(2000)}
    >>> series.release(january).items
    ['bread', 'milk']
    >>> dpsu.Series.open(path)
    <Series of 12 periods, 1 done, 2 items so far, epsilon 1, delta 1e-06>
    """

    def __init__(self, *path: Any, **terms: Any) -> None:
        raise InvalidArgument("write Series.create(path, ...) for a new series, or Series.open(path).")

    @classmethod
    @known_arguments()
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: float,
        delta: float,
        periods: int,
        max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
        shares: Shares = "even",
        ledger: Ledger | str | Path | None = None,
    ) -> "Series":
        """A new series; there must be nothing at `path`. Everything about it is fixed from here on.

        At most `max_items` items of one user count in a period; a list has one number per period. `shares` divides the
        budget: "even", "front" (early periods get more), or one number per period. A `ledger` counts the whole promise
        now, and refuses a period of a state that was restored from a backup or copied.
        """
        mechanism = calibrate_series(epsilon, delta, periods, max_items, shares)
        stream, name = open_stream(), os.urandom(16).hex()
        account, whole = open_ledger(ledger), _first_statement(mechanism, name, stream.seeded)
        if account is not None:
            account.require_room(whole)
        header = {
            "id": name,
            "key": stream.key.hex(),
            "seeded": stream.seeded,
            "epsilon": mechanism.request.epsilon,
            "delta": mechanism.request.delta,
            "delta_new": mechanism.delta_new,
            "parameters": mechanism.parameters(),
            "types": None,
            "text": None,
            "done": [],
            "before": None,
            "statements": {},
            "ledger": None if account is None else str(account.path.resolve()),
        }
        series_state.create(Path(path), header)
        if account is not None:
            # After the state: a folder that cannot be written or a full disk must cost no budget.
            try:
                account.reserve(whole, "a series")
            except DpsuError:
                Path(path).unlink()
                raise
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, ledger: Ledger | str | Path | None = None) -> "Series":
        """The series whose state is at `path`. `ledger` says where its ledger is, if it was moved."""
        series = object.__new__(cls)
        # The file itself: a link must not be replaced by the next state, and leave the old one where it points to.
        series.path, series._moved = Path(os.path.realpath(path)), ledger
        series._header  # noqa: B018 (refuses what is not a series)
        return series

    @classmethod
    @known_arguments()
    def plan(
        cls,
        *,
        epsilon: float,
        delta: float,
        periods: int,
        max_items: int | Sequence[int] = DEFAULT_MAX_ITEMS,
        shares: Shares | Mapping[str, Shares] = EVEN_OR_FRONT,
    ) -> "SeriesPlan":
        """What a series with these terms gives by the end of each period; no data is read, and nothing is spent.

        `shares` is one choice, as for `create`, or several with names; default: "even" and "front".
        `SeriesPlan.items(shape)` has the number of items for a shape of data, `SeriesPlan.chances(holders)` the chances of
        an item by its number of holders.

        >>> import dpsu
        >>> plan = dpsu.Series.plan(epsilon=3, delta=1e-6, periods=3, max_items=5)
        >>> plan.items(dpsu.Shape(users=5000, items_per_user=3)).columns
        ['period', 'even', 'front']
        """
        from dpsu.planning.series import SeriesPlan

        choices = shares if isinstance(shares, Mapping) else {_name_of(shares): shares}
        if not choices or not all(isinstance(name, str) and name != "period" for name in choices):
            raise InvalidArgument("shares must be one choice, or a mapping from names to choices.")
        return SeriesPlan(
            {
                name: calibrate_series(epsilon, delta, periods, max_items, choice)
                for name, choice in choices.items()
            }
        )

    path: Path
    _moved: Ledger | str | Path | None

    @known_arguments(
        **dict.fromkeys(("candidates", "false_share", "discover"), NO_CANDIDATES),
        **dict.fromkeys(("counts", "sums", "others"), NO_NUMBERS),
        **dict.fromkeys(("public_items", "exclude"), NO_LISTS),
        **dict.fromkeys(("epsilon", "delta", "max_items", "shares", "periods"), AT_CREATION),
    )
    def release(
        self,
        source: Any,
        *,
        user: ColumnNames | None = None,
        item: ColumnNames | None = None,
        text: str | bool | None = None,
        ngrams: int | Sequence[int] = 1,
        tokenizer: Tokenizer = "words",
        user_per: UserPer | None = None,
        drop_nulls: bool = False,
        format: str | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        sheet: str | None = None,
        query: str | None = None,
        period: int | None = None,
        ledger: Ledger | str | Path | None = None,
        title: str | None = None,
        note: str | None = None,
        check_user: bool = True,
        progress: Progress = None,
    ) -> Release:
        """Release the new items of the next period, or of a later `period`: the periods between are skipped for good.

        The state is written before the output leaves. `ledger` says where the series' ledger is, if it was moved. The
        other arguments are those of `dpsu.release`.
        """
        described = Source.of(
            source,
            user=user,
            item=item,
            text=text,
            ngrams=ngrams,
            tokenizer=tokenizer,
            user_per=user_per,
            drop_nulls=drop_nulls,
            format=format,
            encoding=encoding,
            separator=separator,
            sheet=sheet,
            query=query,
        )
        engine = engine_for(source)
        if engine.name != "local":
            raise InvalidArgument(
                "a series runs on the local engine: its state, which is as secret as the data, stays in one file on one "
                "machine, and a Spark task would need all of it. Pass source.select(...).toArrow(), or in Spark 3.5 "
                "toPandas(), with the columns of users and items."
            )
        with series_state.locked(self.path) as state:
            mechanism = _mechanism(state.header)
            number = _next_period(state.header, mechanism.periods, period)
            account = _ledger_of(state, self._moved if ledger is None else ledger)
            writer = Writer(self.path)
            try:
                job = SeriesJob(mechanism, number, state, writer)
                terms = Terms(account, title=title, note=note, check_user=check_user, progress=progress)
                return run(job, described, engine, terms)
            finally:
                writer.close()

    def released(self, period: int, *, ledger: Ledger | str | Path | None = None) -> Release:
        """The output of a period that is done, as it was: read from the state, never drawn again.

        `ledger` says where the series' ledger is, if it was moved.
        """
        import polars as pl

        with series_state.reading(self.path) as state:
            header, frame = state.header, state.released()
            # What another copy's period drew must not leave.
            _ledger_of(state, self._moved if ledger is None else ledger)
            if period not in header["done"]:
                raise SeriesError(f"period {period!r} of {self.path} is not done; done are {header['done']}.")
            told = header["statements"][str(period)]
            promise = promise_of_series(_mechanism(header), header["id"], period)
            statement = Statement.from_dict({**told, "parameters": promise.parameters})
        none = pl.DataFrame(schema={"item": pl.String})
        return LocalRelease(
            none if frame is None else frame.filter(frame[PERIOD] == period).drop(PERIOD), statement
        )

    def to_polars(self, *, ledger: Ledger | str | Path | None = None) -> "pl.DataFrame":
        """All items so far, in their original columns. `ledger` says where the series' ledger is, if it was moved."""
        import polars as pl

        with series_state.reading(self.path) as state:
            _ledger_of(state, self._moved if ledger is None else ledger)
            frame = state.released()
        if frame is None:
            return pl.DataFrame(schema={"item": pl.String})
        return frame.drop(PERIOD).sort(frame.columns[:-1])

    @property
    def items(self) -> list[Any]:
        """All items so far. If the ledger was moved, open the series with `Series.open(path, ledger=...)`."""
        frame = self.to_polars()
        return frame.to_series().to_list() if frame.width == 1 else frame.rows()

    @property
    def periods(self) -> int:
        """The horizon."""
        return int(self._header["parameters"]["periods"])

    @property
    def done(self) -> list[int]:
        """The periods that took place."""
        return list(self._header["done"])

    def show(self) -> str:
        """Periods, what is spent and left, and the number of items so far; never totals."""
        header = self._header
        parameters, done = header["parameters"], header["done"]
        shares = parameters["period_shares"]
        spent = sum(shares[period - 1] for period in done)
        left = sum(shares[(done[-1] if done else 0) :])
        void = " NOT PRIVATE: the key was seeded for a test." if header["seeded"] else ""
        return (
            f"series {header['id']}: epsilon {header['epsilon']:g}, delta {header['delta']:g} for {UNIT_OF_SERIES}.{void}\n"
            f"periods done: {', '.join(map(str, done)) or 'none'} of {parameters['periods']}; "
            f"{100 * spent:.1f} % of the budget spent, {100 * left:.1f} % left\n"
            f"items so far: {self._known}"
        )

    def __repr__(self) -> str:
        header = self._header
        return (
            f"<Series of {self.periods} periods, {len(header['done'])} done, {self._known} items so far, "
            f"epsilon {header['epsilon']:g}, delta {header['delta']:g}>"
        )

    @property
    def _known(self) -> str:
        """The number of items so far, unless the ledger refuses this state: another copy's period is not to be known."""
        try:
            return f"{self.to_polars().height:,}"
        except DpsuError:
            return "unknown"

    @property
    def _header(self) -> dict[str, Any]:
        with series_state.reading(self.path) as state:
            return state.header


def _name_of(shares: Shares) -> str:
    return shares if isinstance(shares, str) else "given"


def _mechanism(header: dict[str, Any]) -> SeriesMechanism:
    """The mechanism as it was calibrated at creation."""
    told = header["parameters"]
    request = Request(header["epsilon"], header["delta"], max(told["period_max_items"]))
    return series_told(request, header["delta_new"], told)


def _next_period(header: dict[str, Any], horizon: int, asked: int | None) -> int:
    last = max(header["done"], default=0)
    period = last + 1 if asked is None else asked
    if isinstance(period, bool) or not isinstance(period, int) or period < 1:
        raise InvalidArgument(f"period must be a whole number from 1 to {horizon}, not {asked!r}.")
    if period in header["done"]:
        raise SeriesError(
            f"period {period} is done: Series.released({period}) has its output; it is never drawn again."
        )
    if period <= last:
        raise SeriesError(
            f"period {period} was skipped, and period {last} is done: it cannot take place any more."
        )
    if period > horizon:
        raise SeriesError(
            f"this series was planned for {horizon} periods, and the promise does not cover period {period}: create a "
            "new series, whose budget adds up with this one."
        )
    return period


def _ledger_of(state: State, moved: Ledger | str | Path | None) -> Ledger | None:
    """The ledger of the series, brought up to date; a state that is older than its ledger is refused."""
    place, done = state.header["ledger"], state.header["done"]
    if place is None:
        if moved is not None:
            raise InvalidArgument("this series was created without a ledger: record its statement instead.")
        return None
    ledger = open_ledger(moved if moved is not None else place)
    assert ledger is not None
    entry = next((each for each in ledger.entries() if each.series == state.header["id"]), None)
    if entry is None:
        raise LedgerError(
            f"the ledger {ledger.path} does not have this series. If its creation was interrupted, delete {state.path} "
            "and create it again; otherwise name its ledger."
        )
    known = entry.periods
    if [period for period, _ in known] == done and (not known or known[-1][1] == state.seal):
        return ledger
    behind = [period for period, _ in known] == done[:-1]
    if done and behind and (not known or known[-1][1] == state.header["before"]):
        ledger.note_period(entry.number, done[-1], state.seal, state.header["before"])
        return ledger
    if [period for period, _ in known] == done[: len(known)] and len(known) < len(done) - 1:
        raise LedgerError(
            f"the ledger {ledger.path} lacks several periods of {state.path}, as one restored from a backup does: use the "
            "latest ledger. An older one cannot tell this state from a copy."
        )
    raise SeriesError(
        f"{state.path} is not the latest state of this series: the ledger {ledger.path} has periods that it lacks, or "
        "another copy's. A restored or copied state would use the same noise twice."
    )


def _first_statement(mechanism: SeriesMechanism, name: str, seeded: bool) -> Statement:
    """What the ledger counts: the whole promise."""
    promise = promise_of_series(mechanism, name, 1)
    told: dict[str, Any] = {
        key: value for key, value in vars(promise).items() if key not in ("policies", "lists")
    }
    return Statement(**told, unit=UNIT_OF_SERIES, void="seeded" if seeded else None)
