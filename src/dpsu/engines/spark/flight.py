"""Peers on several machines: they exchange parcels directly, by Arrow Flight.

All traffic is encrypted: a release has a certificate of its own, which its peers show each other, and no other is
accepted. Every call carries a token that the peers make of their greetings, so a peer of an earlier attempt is refused.
A parcel travels as an Arrow table of fixed-size values: nothing that arrives is executed.
"""

import hmac
import os
import socket
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Condition, Event
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import flight

from dpsu.engines.contract import Columns
from dpsu.errors import SourceError

NAME = "dpsu"
"""The name in the certificate of a release, instead of addresses, which are not known beforehand."""

TOKEN = "x-dpsu-token"
PIECE = 1 << 20
"""Rows of a parcel that are sent at once: the limit of a message is 2 GB."""

PATIENCE = 10.0
"""Seconds without an awaited parcel after which a peer asks whether its sender is still there."""

TIMEOUT = 60.0
"""Seconds for an answer."""

CONNECT = 5.0
"""Seconds for a connection to a peer that listens already."""

MOST_SENDERS = 16
"""Threads that send parcels; a cluster may have hundreds of peers."""


REMEDY = (
    "Executors must reach each other on ephemeral ports, at the addresses that the driver sees: let them, or pass "
    "spark_mode='exchange' (docs/cluster.md)"
)


class PeerLost(SourceError):
    """Another peer of the release does not answer any more."""


@dataclass(frozen=True, repr=False)
class Passport:
    """What the peers of one release share: a secret, and a certificate with its key."""

    secret: bytes
    certificate: bytes
    key: bytes

    @classmethod
    def fresh(cls, days: int = 30) -> "Passport":
        """A new one, from the randomness of the operating system."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))  # clocks of machines differ
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        written = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cls(os.urandom(32), certificate.public_bytes(serialization.Encoding.PEM), written)


class FlightExchange:
    """The exchange of one peer with all others; a context manager that stops listening on exit.

    Each peer makes one, all greetings are handed to all peers by other means, and then the peers `meet`.
    """

    def __init__(self, host: str, passport: Passport, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._passport = passport
        self._office = _Office(host, passport)
        self.greeting = f"{host} {self._office.port} {os.urandom(16).hex()}"
        self._clients: list[Any] = []
        self._pool = ThreadPoolExecutor(MOST_SENDERS)
        self._turn = 0

    def __enter__(self) -> "FlightExchange":
        return self

    def __exit__(self, *error: object) -> None:
        for client in self._clients:
            if client is not None:
                client.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._office.close()

    def meet(self, greetings: Sequence[str]) -> None:
        """Connect to the peers with these greetings, which are in the order of their ranks."""
        token = hmac.digest(self._passport.secret, "\n".join(greetings).encode(), "sha256").hex()
        self._options, self._soon = options(token), options(token, TIMEOUT)
        addresses = [greeting.split()[:2] for greeting in greetings]
        others = [address for place, address in enumerate(addresses) if place != self.rank]
        list(self._pool.map(lambda address: _require_way(*address), others))
        for place, address in enumerate(addresses):
            self._clients.append(None if place == self.rank else client(":".join(address), self._passport))
        self._office.open(token)

    def swap(self, parcels: Sequence[Columns]) -> list[Columns]:
        """Send the n-th parcel to the n-th peer, and return the parcels for this one, in the order of their senders."""
        turn, self._turn = self._turn, self._turn + 1
        others = [
            (self.rank + step) % self.size for step in range(1, self.size)
        ]  # not all to the same one first
        sent = [self._pool.submit(self._send, receiver, turn, parcels[receiver]) for receiver in others]
        received = [
            parcels[self.rank] if sender == self.rank else self._received(turn, sender, sent)
            for sender in range(self.size)
        ]
        for each in sent:
            each.result()
        return received

    def _send(self, receiver: int, turn: int, parcel: Columns) -> None:
        packed = pack(parcel)
        label = flight.FlightDescriptor.for_command(f"{turn} {self.rank}".encode())
        try:
            writer, _ = self._clients[receiver].do_put(label, packed.schema, self._options)
            with writer:
                for first in range(0, packed.num_rows, PIECE):
                    writer.write_batch(packed.slice(first, PIECE))
        except (flight.FlightError, pa.ArrowException, OSError):
            raise PeerLost("a peer of this release cannot be reached") from None

    def _received(self, turn: int, sender: int, sent: list["Future[None]"]) -> Columns:
        while True:
            parcel = self._office.take((turn, sender), PATIENCE)
            if parcel is not None:
                return parcel
            for each in sent:
                if each.done():
                    each.result()
            try:
                list(self._clients[sender].do_action(flight.Action("present", b""), self._soon))
            except (flight.FlightError, pa.ArrowException, OSError):
                raise PeerLost("a peer of this release does not answer") from None


def _require_way(host: str, port: str) -> None:
    """Raise an error if no connection can be made: Flight would wait longer, and not say why."""
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT).close()
    except ConnectionRefusedError:  # it has ended, unless a firewall says so
        raise PeerLost("a peer of this release has ended") from None
    except OSError as error:
        raise SourceError(
            f"the tasks of the barrier stage cannot reach each other: no way to {host}, port {port} "
            f"({error.strerror or 'no answer'}); nothing was released. {REMEDY}"
        ) from None


def client(address: str, passport: Passport) -> Any:
    """A client of the server at this address, which must show the same certificate; it connects when it is used."""
    return flight.FlightClient(
        f"grpc+tls://{address}",
        tls_root_certs=passport.certificate,
        cert_chain=passport.certificate,
        private_key=passport.key,
        override_hostname=NAME,
    )


def options(token: str, timeout: float | None = None) -> Any:
    """The options of a call with this token."""
    return flight.FlightCallOptions(headers=[(TOKEN.encode(), token.encode())], timeout=timeout)


class Server(flight.FlightServerBase):  # type: ignore[misc]
    """Listens at a port of its own, for calls with the certificate and the token of one release."""

    def __init__(self, host: str, passport: Passport) -> None:
        self._door = _Door()
        super().__init__(
            f"grpc+tls://{host}:0",
            tls_certificates=[(passport.certificate, passport.key)],
            verify_client=True,
            root_certificates=passport.certificate,
            middleware={"token": self._door},
        )

    def open(self, token: str) -> None:
        """Let in whoever has the token."""
        self._door.open(token)

    def close(self) -> None:
        """Stop listening; whoever waits at the door is refused."""
        self._door.open("")
        self.shutdown()


class _Office(Server):
    """Where the parcels for one peer arrive."""

    def __init__(self, host: str, passport: Passport) -> None:
        self._parcels: dict[tuple[int, int], Columns] = {}
        self._arrived = Condition()
        super().__init__(host, passport)

    def take(self, label: tuple[int, int], timeout: float) -> Columns | None:
        """The parcel of this turn and sender, or None if it has not arrived in time."""
        with self._arrived:
            self._arrived.wait_for(lambda: label in self._parcels, timeout)
            return self._parcels.pop(label, None)

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Take a parcel in."""
        turn, sender = map(int, descriptor.command.split())
        parcel = unpack(reader.read_all())
        with self._arrived:
            self._parcels[turn, sender] = parcel
            self._arrived.notify_all()

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        """An answer says that this peer is still there."""
        return []


class _Door(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses calls without the token. Until this peer knows it, calls of faster peers wait."""

    def __init__(self) -> None:
        super().__init__()
        self._known = Event()

    def open(self, token: str) -> None:
        """From now on calls with this token are let in; with none, no calls at all."""
        self._expected = token
        self._known.set()

    def start_call(self, info: Any, headers: Any) -> None:
        """Look at the headers of a call before anything else of it is read."""
        self._known.wait()
        shown = headers.get(TOKEN) or [""]
        if not self._expected or not hmac.compare_digest(shown[0].encode(), self._expected.encode()):
            raise flight.FlightUnauthenticatedError("not a peer of this release")


def pack(parcel: Columns) -> pa.RecordBatch:
    """The parcel as Arrow columns of fixed-size values, without copying; the schema says what they are."""
    columns, fields = [], []
    for name, values in parcel.items():
        flat = np.ascontiguousarray(values)
        width = flat.dtype.itemsize * int(np.prod(flat.shape[1:], dtype=np.int64))
        kind = pa.binary(width)
        columns.append(pa.FixedSizeBinaryArray.from_buffers(kind, len(flat), [None, pa.py_buffer(flat)]))
        told = {"dtype": flat.dtype.str, "shape": " ".join(map(str, flat.shape[1:]))}
        fields.append(pa.field(name, kind, nullable=False, metadata=told))
    return pa.record_batch(columns, schema=pa.schema(fields))


def unpack(table: pa.Table) -> dict[str, NDArray[Any]]:
    """The parcel in a table that has arrived, in memory of its own."""
    parcel = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        dtype = np.dtype(field.metadata[b"dtype"].decode())
        if dtype.kind not in "biuf":
            raise SourceError("a parcel has values that are no numbers")
        shape = [int(size) for size in field.metadata[b"shape"].split()]
        width = field.type.byte_width
        pieces = [
            np.frombuffer(piece.buffers()[1], np.uint8, len(piece) * width, piece.offset * width)
            for piece in column.chunks
            if len(piece)
        ]
        whole = np.concatenate(pieces) if pieces else np.zeros(0, np.uint8)
        parcel[field.name] = whole.view(dtype).reshape(-1, *shape)
    return parcel
