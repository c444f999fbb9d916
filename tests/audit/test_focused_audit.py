"""Focused Gaussian under attack, in the time that a test may take; long_audit.py goes further."""

import numpy as np
import pytest
from attack import (
    EPSILON,
    Database,
    as_sets,
    attack,
    calibrate,
    exposed_users,
    play,
    rounds_of,
    share_at_least,
    share_at_most,
    with_boundary,
    with_noise,
)
from normals import computed_normals

from dpsu.engines.local import LocalEngine
from dpsu.randomness.stream import Purpose, Stream

RUNS = 100_000

# One item at the edge; two and eight items between which a user of the first can tip everybody.
ALONE = Database(((0,),), (3,))
PAIR = Database(((0, 1),), (5,))
CROWD = Database(((0, 1, 2, 3, 4, 5, 6, 7),), (7,))


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.005])
@pytest.mark.parametrize("max_items", [1, 8])
def test_items_of_one_user_alone_come_out_as_rarely_as_promised(delta, max_items):
    mechanism = calibrate(delta, max_items)
    users = 400_000 // max_items
    exposed = exposed_users(mechanism, users, max_items, seed=1)
    assert share_at_least(exposed, users) <= mechanism.delta_new
    # Nor is the bound idle: a single item gets all of the budget for certain, one of eight at worst.
    assert share_at_most(exposed, users) > {1: 0.8, 8: 0.3}[max_items] * mechanism.delta_new


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.005])
def test_a_boundary_a_fifth_lower_is_caught(delta):
    lowered = with_boundary(calibrate(delta, 1), 0.8)
    exposed = exposed_users(lowered, 400_000, 1, seed=1)
    assert share_at_least(exposed, 400_000) > lowered.delta_new


@pytest.mark.parametrize(("delta", "database"), [(0.1, ALONE), (0.1, PAIR), (0.05, PAIR), (0.01, CROWD)])
def test_a_user_who_tips_the_focus_of_others_stays_hidden(delta, database):
    assert attack(calibrate(delta, 8), database, own=(0,), runs=RUNS) <= EPSILON


def test_too_little_noise_is_caught():
    assert attack(with_noise(calibrate(0.1, 8), 0.6), ALONE, own=(0,), runs=RUNS) > EPSILON


def test_looking_at_exact_totals_is_caught():
    """Users who see exact totals follow one user's push all together; noise on what they see hides it."""
    assert attack(calibrate(0.01, 8), CROWD, own=(0,), runs=RUNS, focus_on_exact=True) > 2 * EPSILON


@pytest.mark.parametrize("seed", range(20))
def test_the_simulation_under_attack_is_the_product(seed):
    """Fed with the product's own normal variates it ends with the same cells and the same items."""
    rng = np.random.default_rng(seed)
    sets = tuple({tuple(sorted(rng.choice(6, rng.integers(1, 7), replace=False).tolist())) for _ in range(4)})
    database = Database((*sets, tuple(range(6))), (*rng.integers(1, 9, len(sets)).tolist(), 1))
    mechanism, stream = calibrate(0.05, 6), Stream(bytes([seed] * 32))
    product_sets = as_sets(database, seed)
    table = mechanism.select(LocalEngine(threads=1), product_sets, stream)
    normals = np.array(
        [
            computed_normals(stream.words(Purpose.NOISE, r, product_sets.item_digests))[0]
            for r in range(len(mechanism.boundary.shares))
        ]
    )
    boundary = mechanism.boundary
    released, noisy = play(
        *database.rows,
        np.array(database.users),
        rounds_of(mechanism),
        boundary.cell,
        mechanism.focus.tail,
        boundary.caps,
        False,
        normals,
    )
    assert (released > 0).tolist() == table["released"].tolist()
    assert noisy.tolist() == table["noisy"].tolist()
