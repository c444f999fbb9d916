"""A cluster of several hosts on one machine: network namespaces with an address each, joined by a bridge.

No packet leaves the namespaces. Everything is made with `ip` of iproute2, which needs root; all is removed on exit.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EPHEMERAL = "32768-60999"
"""Linux's default range, from which a listener at port 0 gets its own."""

LOST = "02:00:00:00:ff:ff"
"""A link address that nobody has."""


def require_hosts() -> None:
    """Skip where no namespaces can be made."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if shutil.which("ip") is None:
        pytest.skip("there is no `ip` on this machine: the Debian package is iproute2")
    name = f"dpsu-{secrets.token_hex(4)}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    if made.returncode:
        pytest.skip(f"no network namespaces can be made here: {made.stderr.strip()}")


class Network:
    """Hosts 0, 1, … with the addresses 10.77.0.1, 10.77.0.2, …; each also knows the names `host-0.test`, ….

    Host n is joined to the bridge by its port `port-n`, and calls its end `eth0`.
    """

    def __init__(self, hosts: int) -> None:
        own = f"dpsu-{secrets.token_hex(4)}"
        self._names = [f"{own}-{number}" for number in range(hosts)]
        self.bridge = f"{own}-bridge"
        self._running: list[subprocess.Popen[Any]] = []

    def address(self, host: int) -> str:
        """The address of a host."""
        return f"10.77.0.{host + 1}"

    def hostname(self, host: int) -> str:
        """The name by which all hosts know it."""
        return f"host-{host}.test"

    def start(self, host: int | None, command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
        """Start a command on a host, or with None at the bridge."""
        where = self.bridge if host is None else self._names[host]
        started = subprocess.Popen(["ip", "netns", "exec", where, *command], **options)
        self._running.append(started)
        return started

    def close_ephemeral_ports(self, host: int, to: int) -> None:
        """Drop without an answer what goes from one ephemeral port of this host to another of that one.

        A connection to a fixed port, as Spark's own are here, is not affected: like a firewall with open ports.
        """
        self._ip(host, "neigh", "replace", "10.77.0.254", "lladdr", LOST, "dev", "eth0", "nud", "permanent")
        self._ip(host, "route", "replace", f"{self.address(to)}/32", "via", "10.77.0.254", "table", "77")
        ports = ["sport", EPHEMERAL, "dport", EPHEMERAL]
        self._ip(host, "rule", "add", "to", self.address(to), "ipproto", "tcp", *ports, "lookup", "77")

    def open_ephemeral_ports(self, host: int) -> None:
        """Undo that."""
        self._ip(host, "rule", "del", "lookup", "77")

    def build(self) -> None:
        """Make the bridge and the hosts."""
        at_bridge = ["ip", "-n", self.bridge]
        self._run("ip", "netns", "add", self.bridge)
        self._run(*at_bridge, "link", "add", "bridge", "type", "bridge")
        self._run(*at_bridge, "link", "set", "bridge", "up")
        known = [f"{self.address(host)} {self.hostname(host)}\n" for host in range(len(self._names))]
        for host, name in enumerate(self._names):
            self._run("ip", "netns", "add", name)
            folder = Path("/etc/netns") / name  # `ip netns exec` puts its files in the place of those in /etc
            folder.mkdir(parents=True)
            own = f"127.0.0.1 localhost\n{self.address(host)} {socket.gethostname()}\n"
            (folder / "hosts").write_text(own + "".join(known))
            port = f"port-{host}"
            self._run(*at_bridge, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            self._run(*at_bridge, "link", "set", port, "master", "bridge", "up")
            self._ip(host, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                self._ip(host, "link", "set", link, "up")

    def remove(self) -> None:
        """End all processes of all hosts, and remove everything."""
        for name in [*self._names, self.bridge]:
            for which in (signal.SIGTERM, signal.SIGKILL):
                self._signal(name, which)
        for started in self._running:
            with started:  # waits, and closes its pipes
                continue
        for name in [*self._names, self.bridge]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            shutil.rmtree(Path("/etc/netns") / name, ignore_errors=True)

    def _signal(self, name: str, which: signal.Signals) -> None:
        """Send a signal to what runs in a namespace of this network, and give it a moment to end."""
        deadline = time.monotonic() + 3
        while pids := subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout:
            for pid in pids.split():
                try:
                    os.kill(int(pid), which)
                except ProcessLookupError:
                    continue
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)

    def _ip(self, host: int, *arguments: str) -> None:
        self._run("ip", "-n", self._names[host], *arguments)

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, text=True)


@contextmanager
def network(hosts: int) -> Iterator[Network]:
    """A network of this number of hosts."""
    made = Network(hosts)
    try:
        made.build()
        yield made
    finally:
        made.remove()


CAPTURE = """
import socket, sys
watch = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
watch.setsockopt(socket.SOL_SOCKET, 33, 1 << 27)  # SO_RCVBUFFORCE
watch.bind((sys.argv[1], 0))
with open(sys.argv[2], "wb", 0) as out:
    print(flush=True)
    while True:
        packet = watch.recv(1 << 17)
        out.write(len(packet).to_bytes(4, "big") + packet)
"""


@contextmanager
def captured(net: Network, host: int, file: Path) -> Iterator[None]:
    """Write all packets from and to a host into a file, each after its length in four bytes."""
    command = [sys.executable, "-c", CAPTURE, f"port-{host}", str(file)]
    watcher = net.start(None, command, stdout=subprocess.PIPE)
    assert watcher.stdout is not None
    watcher.stdout.readline()
    try:
        yield
    finally:
        time.sleep(0.2)
        watcher.kill()


Stream = tuple[str, int, str, int]
"""Where the bytes come from, and where they go: address and port of both."""


def streams(file: Path) -> dict[Stream, bytes]:
    """The TCP streams in a capture; what was sent again appears again."""
    raw, at = file.read_bytes(), 0
    found: dict[Stream, list[bytes]] = {}
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "big")
        frame, at = raw[at + 4 : at + 4 + size], at + 4 + size
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        ip = frame[14 : 14 + int.from_bytes(frame[16:18], "big")]
        tcp = ip[4 * (ip[0] & 15) :]
        source, target = (".".join(map(str, ip[first : first + 4])) for first in (12, 16))
        ports = [int.from_bytes(tcp[first : first + 2], "big") for first in (0, 2)]
        found.setdefault((source, ports[0], target, ports[1]), []).append(tcp[4 * (tcp[12] >> 4) :])
    return {each: b"".join(parts) for each, parts in found.items()}
