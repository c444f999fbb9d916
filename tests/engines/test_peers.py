"""Whole jobs on peers, in memory and over Arrow Flight: the release of one engine, and nobody else gets in."""

import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from peer_threads import desks, divided

import dpsu
from dpsu.algorithms.candidate_list import add_candidates
from dpsu.algorithms.catalogue import find
from dpsu.algorithms.holders import counting_terms
from dpsu.algorithms.job import SingleJob
from dpsu.algorithms.levels import LevelsJob, plan_levels
from dpsu.algorithms.public_items import read_lists
from dpsu.algorithms.request import Request
from dpsu.algorithms.tuning import Candidate, TuneBySelection, TuneOnPart
from dpsu.engines.local import LocalEngine
from dpsu.engines.peers import PeerEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.source import Source

pytest.importorskip("pyarrow.flight")

from dpsu.engines.spark import flight
from dpsu.engines.spark.whole import Done, run_whole

STREAM = Stream(bytes(range(32)), seeded=True)
SPENT = {"spent": (-2.0, 8.0)}


def baskets() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"user": rng.integers(0, 900, 9000), "item": rng.zipf(1.3, 9000) % 1500})
    spent = pl.Series("spent", rng.integers(-1, 9, 9000))
    return frame.select("user", item=pl.format("word{}", "item")).with_columns(spent)


def work_of(
    algorithm: Any = "focused-gaussian",
    public: Any = None,
    exclude: Any = None,
    candidates: Any = None,
    discover: bool = True,
    **measures: Any,
) -> tuple[Any, Any]:
    """A job, and what runs it on rows with an engine."""
    counting = counting_terms(**{"counts": False, **measures})
    share = None if candidates is None else 0.3
    chosen, _ = add_candidates(find(algorithm), candidates, share, discover)
    job = SingleJob(chosen, Request(3.0, 1e-4, 10), counting)
    source = Source.of(None, user="user", item="item")
    if counting is not None:
        source = Source(None, "user", "item", sums=counting.sums)
    return job, partial(run_whole, job=job, source=source, lists=read_lists(public, exclude), stream=STREAM)


def sent(work: Any) -> Any:
    """The work as a process gets it, with a job of its own."""
    return pickle.loads(pickle.dumps(work))


def on_peers(work: Any, exchanges: Sequence[Any], frame: pl.DataFrame) -> list[tuple[Done, pl.DataFrame]]:
    def peer(rank: int, rows: pl.DataFrame) -> tuple[Done, pl.DataFrame]:
        with PeerEngine(exchanges[rank], threads=1, parts=1) as engine:
            return sent(work)(rows, engine)

    with ThreadPoolExecutor(len(exchanges)) as pool:
        return list(pool.map(peer, range(len(exchanges)), divided(frame, len(exchanges))))


LISTED = [f"word{n}" for n in range(50)] + [f"none{n}" for n in range(300)]
WEIGHTED = pl.DataFrame({"item": LISTED, "weight": [1.0 + n % 7 for n in range(350)]})

WORK: dict[str, dict[str, Any]] = {
    "focused": {},
    "auto": {"algorithm": "auto"},
    "policy": {"algorithm": dpsu.PolicyLaplace(parts=3)},
    "mad2r": {"algorithm": "mad2r"},
    "lists": {"public": ["word3", "nothing", "none"], "exclude": ["word1"]},
    "counts": {"counts": True, "public": ["word3", "nothing", "none"], "exclude": ["word1"]},
    "sums": {"sums": SPENT, "others": True},
    "candidates": {"candidates": LISTED},
    "candidates with weights": {"candidates": WEIGHTED, "counts": True},
    "candidates alone": {"candidates": LISTED, "discover": False},
    "candidates, lists and counts": {
        "candidates": LISTED[2:],
        "counts": True,
        "public": ["word0", "nothing"],
        "exclude": ["word1"],
    },
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", WORK)
def test_peers_find_what_one_engine_does(name: str, size: int) -> None:
    _, work = work_of(**WORK[name])
    with LocalEngine(1) as engine:
        done, names = work(baskets(), engine)
    found = on_peers(work, desks(size), baskets())
    together = pl.concat([own for _, own in found])
    assert names.height > 20
    assert together.sort(names.columns).equals(names.sort(names.columns))
    for own, _ in found:
        assert (own.chosen.fields, own.chosen.users) == (done.chosen.fields, done.chosen.users)
        assert own.chosen.others == done.chosen.others


def texts() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    lines = [" ".join(f"w{n}" for n in rng.zipf(1.5, 12) % 60) for _ in range(1500)]
    return pl.DataFrame({"user": np.arange(1500) % 700, "text": lines})


def levels(**how: Any) -> tuple[pl.DataFrame, Any]:
    counts = counting_terms(counts=True)
    plan, counting = plan_levels(Request(3.0, 1e-4), 3, 20, counts=counts, **how)
    source = Source.of(None, user="user", text="text", ngrams=(1, 2, 3))
    return texts(), partial(run_whole, job=LevelsJob(plan, source.text, counting), source=source)


def tuning(job: type[TuneOnPart] | type[TuneBySelection], last: float) -> tuple[pl.DataFrame, Any]:
    settings = [{"max_items": 4}, {"max_items": 10}, {"algorithm": dpsu.PolicyGaussian(parts=3)}]
    made = job(Request(3.0, 1e-4), [Candidate.of(setting) for setting in settings], last)
    source = Source.of(None, user="user", item="item")
    return baskets(), partial(run_whole, job=made, source=source)


JOBS = {
    "levels": levels,
    "tuning on a part": partial(tuning, TuneOnPart, 0.3),
    "private selection": partial(tuning, TuneBySelection, 3.0),
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("lists", [{}, {"public": ["w3", "word3", "none"], "exclude": ["w1", "word1"]}])
def test_peers_run_levels_and_tuning(name: str, lists: dict[str, Any]) -> None:
    """With their names, statements and what a job has learned."""
    frame, job = JOBS[name]()
    public, exclude = lists.get("public"), lists.get("exclude")
    require_same_of_peers(frame, partial(job, lists=read_lists(public, exclude), stream=STREAM))


@pytest.mark.parametrize("how", [{"method": "dpne"}, {"false_share": 0.4}])
def test_peers_run_levels_over_known_domains(how: dict[str, Any]) -> None:
    """With n-grams that nobody wrote: all peers find the same ones, and one of them names each."""
    frame, job = levels(**how)
    names = require_same_of_peers(frame, partial(job, lists=read_lists(None, None), stream=STREAM))
    written = " . ".join(frame["text"])
    assert any(name not in written for name in names["ngram"])


def require_same_of_peers(frame: pl.DataFrame, work: Any) -> pl.DataFrame:
    """That peers find what one engine does; the names of the release."""
    with LocalEngine(1) as engine:
        done, names = sent(work)(frame, engine)
    found = on_peers(work, desks(3), frame)
    together = pl.concat([own for _, own in found])
    assert names.height > 20
    assert together.sort(names.columns).equals(names.sort(names.columns))
    for own, _ in found:
        assert own.chosen.fields == done.chosen.fields
        assert own.learned == done.learned
    return names


@contextmanager
def exchanges_at(host: str) -> Iterator[list[flight.FlightExchange]]:
    """Three exchanges of one release, not yet connected."""
    passport = flight.Passport.fresh()
    with ExitStack() as stack:
        yield [stack.enter_context(flight.FlightExchange(host, passport, rank, 3)) for rank in range(3)]


@pytest.fixture
def exchanges() -> Iterator[list[flight.FlightExchange]]:
    with exchanges_at("localhost") as made:
        yield made


def connect(exchanges: list[flight.FlightExchange]) -> None:
    greetings = [each.greeting for each in exchanges]
    for each in exchanges:
        each.meet(greetings)


def test_peers_over_flight_find_the_same(
    exchanges: list[flight.FlightExchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "PIECE", 100)
    connect(exchanges)
    _, work = work_of(algorithm="auto", counts=True)
    with LocalEngine(1) as engine:
        _, names = work(baskets(), engine)
    found = pl.concat([own for _, own in on_peers(work, exchanges, baskets())])
    assert found.sort(names.columns).equals(names.sort(names.columns))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_peers_have_addresses_as_spark_writes_them(host: str) -> None:
    if ":" in host and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    with exchanges_at(host) as made:
        connect(made)
        with ThreadPoolExecutor(3) as pool:
            swaps = [pool.submit(each.swap, [{"value": np.arange(each.rank)}] * 3) for each in made]
        assert [len(parcel["value"]) for parcel in swaps[0].result()] == [0, 1, 2]


def test_a_peer_that_has_ended_is_noticed_at_the_meeting(exchanges: list[flight.FlightExchange]) -> None:
    exchanges[2].__exit__()
    with pytest.raises(flight.PeerLost):
        connect(exchanges)


PARCELS = {
    "numbers": np.arange(-3, 4),
    "digests": np.arange(14, dtype=np.uint64).reshape(7, 2),
    "marks": np.arange(7) % 2 == 0,
    "values": np.linspace(0, 1, 7),
}


@pytest.mark.parametrize("rows", [0, 7])
def test_a_parcel_arrives_as_it_was_sent(rows: int) -> None:
    parcel = {name: values[:rows] for name, values in PARCELS.items()}
    import pyarrow as pa

    arrived = flight.unpack(pa.Table.from_batches([flight.pack(parcel)]))
    for name, values in parcel.items():
        assert arrived[name].dtype == values.dtype
        assert np.array_equal(arrived[name], values)
        assert arrived[name].flags.writeable


def test_only_peers_of_the_release_get_in(exchanges: list[flight.FlightExchange]) -> None:
    """With the certificate and the token a call passes; without either it is refused."""
    connect(exchanges)
    host, port, _ = exchanges[0].greeting.split()
    good = exchanges[1]
    answered = good._clients[0].do_action(flight.flight.Action("present", b""), good._options)
    assert list(answered) == []

    forged = flight.flight.FlightCallOptions(headers=[(flight.TOKEN.encode(), b"0" * 64)])
    for options in (forged, None):
        with pytest.raises(flight.flight.FlightUnauthenticatedError):
            list(good._clients[0].do_action(flight.flight.Action("present", b""), options))

    other = flight.Passport.fresh()
    for certificate, key in ((other.certificate, other.key), (None, None)):
        client = flight.flight.FlightClient(
            f"grpc+tls://{host}:{port}",
            tls_root_certs=good._passport.certificate,
            cert_chain=certificate,
            private_key=key,
            override_hostname=flight.NAME,
        )
        with pytest.raises(flight.flight.FlightError):
            list(client.do_action(flight.flight.Action("present", b""), good._options))
    clear = flight.flight.FlightClient(f"grpc://{host}:{port}")
    with pytest.raises(flight.flight.FlightError):
        list(clear.do_action(flight.flight.Action("present", b""), good._options))


def test_another_attempt_has_another_token() -> None:
    """The peers of an earlier attempt of the same release are refused."""
    passport, tokens = flight.Passport.fresh(), []
    for _ in range(2):
        with flight.FlightExchange("localhost", passport, 0, 1) as alone:
            alone.meet([alone.greeting])
            tokens.append(alone._office._door._expected)
    assert tokens[0] != tokens[1]


def test_a_lost_peer_ends_the_wait_of_the_others(
    exchanges: list[flight.FlightExchange], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "PATIENCE", 0.2)
    connect(exchanges)
    parcels = [{"value": np.arange(3)}] * 3
    waiting: list[Any] = []

    def swap(exchange: flight.FlightExchange) -> None:
        try:
            exchange.swap(parcels)
        except flight.PeerLost as lost:
            waiting.append(lost)

    threads = [threading.Thread(target=swap, args=(each,)) for each in exchanges[:2]]
    for thread in threads:
        thread.start()
    exchanges[2].__exit__()
    for thread in threads:
        thread.join(60)
    assert len(waiting) == 2
