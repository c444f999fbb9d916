"""Peers as threads of one process: an exchange in memory, and an engine that calls all peers at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import Queue
from typing import Any

import polars as pl

from dpsu.engines.contract import Columns
from dpsu.engines.peers import PeerEngine


class Desk:
    """The exchange of one peer: a queue for every pair of peers."""

    def __init__(self, rank: int, queues: list[list["Queue[Columns]"]]) -> None:
        self.rank, self.size = rank, len(queues)
        self._queues = queues

    def swap(self, parcels: Sequence[Columns]) -> list[Columns]:
        for receiver, parcel in enumerate(parcels):
            self._queues[self.rank][receiver].put(parcel)
        return [self._queues[sender][self.rank].get(timeout=60) for sender in range(self.size)]


def desks(size: int) -> list[Desk]:
    queues: list[list[Queue[Columns]]] = [[Queue() for _ in range(size)] for _ in range(size)]
    return [Desk(rank, queues) for rank in range(size)]


def divided(frame: pl.DataFrame, size: int, user: str = "user") -> list[pl.DataFrame]:
    """The rows of each peer: all rows of a user are at one; the last peer has none."""
    place = frame[user].hash(seed=1) % max(1, size - 1)
    return [frame.filter(place == rank) for rank in range(size)]


class Together:
    """The engine contract on several peers: every handle is a list with that of each peer."""

    parts = 1

    def __init__(self, exchanges: Sequence[Any]) -> None:
        self.peers = [PeerEngine(exchange, threads=1, parts=1) for exchange in exchanges]
        self._pool = ThreadPoolExecutor(len(self.peers))

    def __enter__(self) -> "Together":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()
        for peer in self.peers:
            peer.__exit__(*error)

    def place(self, job: Any) -> Any:
        return job

    def read(self, source: Any, stream: Any) -> list[Any]:
        size = len(self.peers)
        parts = divided(source.data, size, source.user)
        sources = [replace(source, data=part) for part in parts]
        return self._call("read", [(own, stream) for own in sources], {})

    def item_types(self, sets: list[Any]) -> Any:
        return self.peers[0].item_types(sets[0])

    def names(self, sets: list[Any], items: list[Any]) -> pl.DataFrame:
        found = pl.concat(self._call("names", list(zip(sets, items, strict=True)), {}))
        return found.sort(found.columns)

    def collect(self, items: list[Any], step: Any) -> Any:
        return self._call("collect", [(own, step) for own in items], {})[0]

    def __getattr__(self, name: str) -> Any:
        """A method of all peers: lists are handles, and everything else is the same for all."""

        def method(*arguments: Any, **options: Any) -> Any:
            each = [tuple(_own(argument, rank) for argument in arguments) for rank in range(len(self.peers))]
            keep = [
                {key: _own(value, rank) for key, value in options.items()} for rank in range(len(self.peers))
            ]
            return self._call(name, each, keep)

        return method

    def _call(self, name: str, arguments: list[tuple[Any, ...]], options: Any) -> list[Any]:
        waiting = [
            self._pool.submit(getattr(peer, name), *arguments[rank], **(options[rank] if options else {}))
            for rank, peer in enumerate(self.peers)
        ]
        return [each.result() for each in waiting]


def _own(argument: Any, rank: int) -> Any:
    return argument[rank] if isinstance(argument, list) else argument
