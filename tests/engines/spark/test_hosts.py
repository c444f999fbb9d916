"""A cluster of three hosts, each with an address of its own: the driver, and two workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import Network, captured, network, require_hosts, streams
from hosts_cluster import BLOCKS, HELD, Driver, start_cluster
from spark_sessions import require_spark

TLS = b"\x16\x03"
"""The first bytes of a connection that is encrypted."""


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    require_spark()
    require_hosts()
    with network(3) as made:
        yield made


@pytest.fixture(scope="module")
def driver(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """Spark knows one worker by its address, and the other by a name."""
    return start_cluster(net, {1: net.address(1), 2: net.hostname(2)}, tmp_path_factory.mktemp("cluster"))


@pytest.mark.parametrize("mode", ["task", "barrier", "exchange"])
def test_several_hosts_give_the_release_of_one(
    net: Network, driver: Driver, mode: str, tmp_path: Path
) -> None:
    """Rows cross the network in the clear, as Spark sends them; what the peers of a barrier stage send is encrypted."""
    with captured(net, 1, tmp_path / "packets"):
        found = driver.ask("on_cluster", spark_mode=mode)
    assert found == driver.ask("here")
    assert HELD in found

    workers = {net.address(1), net.address(2)}
    between = {
        each: sent for each, sent in streams(tmp_path / "packets").items() if workers == {each[0], each[2]}
    }
    of_spark = [sent for each, sent in between.items() if BLOCKS in each]
    of_peers = {each: sent for each, sent in between.items() if BLOCKS not in each and sent}
    if mode != "barrier":
        assert of_peers == {}
        return
    assert HELD.encode() in b"".join(of_spark)
    assert {each[0] for each in of_peers} == workers
    assert sum(map(len, of_peers.values())) > len(found)
    for sent in of_peers.values():
        assert sent.startswith(TLS)
        assert HELD.encode() not in sent
        assert b"dtype" not in sent  # which `pack` writes beside every column


def test_peers_that_cannot_reach_each_other_say_so(net: Network, driver: Driver) -> None:
    """A firewall between the workers lets Spark's own ports through, and drops the others without an answer."""
    net.close_ephemeral_ports(1, 2)
    try:
        found = driver.ask("on_cluster", spark_mode="barrier")
    finally:
        net.open_ephemeral_ports(1)
    assert isinstance(found, str)
    assert net.address(1) in found or net.address(2) in found
    assert "ports" in found
    assert driver.ask("on_cluster", spark_mode="barrier") == driver.ask("here")


def test_rounds_are_told_across_the_network_and_a_firewall_stops_nothing_else(
    net: Network, driver: Driver
) -> None:
    found, stages = driver.ask("on_cluster_told", spark_mode="barrier")
    assert stages[-3:] == ["round 1 of 2", "round 2 of 2", "decoding"]
    for worker in (1, 2):
        net.close_ephemeral_ports(worker, 0)
    try:
        again, fewer = driver.ask("on_cluster_told", spark_mode="barrier")
    finally:
        for worker in (1, 2):
            net.open_ephemeral_ports(worker)
    assert fewer == stages[:2]
    assert again == found == driver.ask("here")


def test_nothing_is_left_of_a_network() -> None:
    require_hosts()
    with network(1) as made:
        sleeper = made.start(0, ["sleep", "600"])
        left = Path("/run/netns", made.bridge)
        assert left.exists()
    assert sleeper.returncode is not None
    assert not left.exists()
    assert not list(Path("/etc/netns").glob(made.bridge.replace("bridge", "*")))
