"""Noisy numbers of holders: right in the mean, of the stated spread, with the weights that the cut allows a user."""

import numpy as np
from scipy import stats

from dpsu.algorithms.holders import counting_noise
from dpsu.algorithms.measures import noisy_holders, noisy_users
from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Stream
from dpsu.sources.pairs import read_sets

ENGINE = LocalEngine()


def holders_of(users: dict[int, list[str]], released: list[str], **how: float) -> dict[str, int]:
    stream = Stream(bytes(32))
    sets = read_sets(users, stream=stream)
    names = [sets.names.decode(np.array([code])).item() for code in range(sets.n_items)]
    items = {**ENGINE.items(sets), "released": np.isin(names, released)}
    counted = noisy_holders(ENGINE, sets, items, stream=stream, **how)  # type: ignore[arg-type]
    return dict(zip(names, counted["shown: holders"].tolist(), strict=True))


def test_counts_are_noisy_for_released_items_and_silent_on_others() -> None:
    users = {n: [f"item {n % 300}", "unreleased"] for n in range(3000)}
    counts = holders_of(users, [f"item {n}" for n in range(300)], cut=1, sigma=5.0)
    assert counts.pop("unreleased") == 0
    errors = np.array([*counts.values()]) - 10
    assert stats.kstest(errors / 5.0, "norm").pvalue > 1e-4


def test_a_user_counts_for_less_of_many_released_items() -> None:
    users = {n: ["a", "b", "c", "unreleased"] for n in range(4000)}
    counts = holders_of(users, ["a", "b", "c"], cut=2, sigma=1.0)
    assert all(abs(counts[item] - 4000 * (2 / 3) ** 0.5) < 8 for item in "abc")


def test_noise_pays_for_all_counts_of_a_user_and_the_number_of_users() -> None:
    assert counting_noise(0.5, 99 + 1) >= 20
    assert counting_noise(0.5, 100) >= 20
    draws = [noisy_users(1000, sigma=7.0, stream=Stream(n.to_bytes(32, "big"))) for n in range(300)]
    assert stats.kstest((np.array(draws) - 1000) / 7.0, "norm").pvalue > 1e-4
