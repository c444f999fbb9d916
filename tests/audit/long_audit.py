"""The long audit of Focused Gaussian, by `make audit`: minutes, not seconds. Its figures are printed."""

import pytest
from attack import (
    EPSILON,
    Database,
    attack,
    calibrate,
    exposed_users,
    share_at_least,
    share_at_most,
    with_boundary,
    with_noise,
)

SCREENING = 10_000
RUNS = 1_000_000
USERS = 1_000_000

# Groups of users who hold the same items, and what the user in question holds: alone at the edge, tipping
# others between two, three or eight items, with rivals on both sides, with an item that nobody else has.
FAMILIES = [
    (((0,),), (0,)),
    (((0, 1),), (0,)),
    (((0, 1),), (0, 1)),
    (((0, 1), (0,), (1,)), (0,)),
    (((0, 1, 2),), (0,)),
    (((0, 1), (1, 2)), (1,)),
    (((0, 1),), (0, 2)),
    (((0, 1, 2, 3, 4, 5, 6, 7),), (0,)),
]
CASES = [
    (Database(sets, (users,) + (rivals,) * (len(sets) - 1)), own)
    for sets, own in FAMILIES
    for users in (2, 3, 4, 5, 6, 8, 10, 12, 14)
    for rivals in ((1, 3) if len(sets) > 1 else (0,))
]


def worst_case(mechanism):
    """The database of all cases that says most in a short screening."""
    return max(CASES, key=lambda case: attack(mechanism, *case, runs=SCREENING))


@pytest.mark.parametrize("delta", [0.1, 0.03, 0.01])
def test_the_worst_database_found_says_less_than_promised(delta):
    mechanism = calibrate(delta, 8)
    database, own = worst_case(mechanism)
    found = attack(mechanism, database, own, runs=RUNS, seed=1)
    undernoised = attack(with_noise(mechanism, 0.6), database, own, runs=RUNS // 4, seed=1)
    print(f"delta {delta}: {database}, {own}: epsilon {found:.3f}; with 0.6 of the noise {undernoised:.3f}")
    assert found <= EPSILON


@pytest.mark.parametrize("delta", [0.1, 0.03, 0.01])
def test_the_attack_has_power(delta):
    mechanism = with_noise(calibrate(delta, 8), 0.6)
    database, own = worst_case(mechanism)
    found = attack(mechanism, database, own, runs=RUNS // 4, seed=1)
    print(f"0.6 of the noise, delta {delta}: {database}, {own}: epsilon {found:.3f}")
    assert found > EPSILON


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.005])
@pytest.mark.parametrize(("max_items", "cap"), [(1, 1.0), (3, 1.0), (20, 1.0), (20, 0.4)])
def test_items_of_one_user_alone(delta, max_items, cap):
    mechanism = calibrate(delta, max_items, cap=cap)
    users = USERS // max_items
    exposed = exposed_users(mechanism, users, max_items, seed=2)
    low, high = share_at_least(exposed, users, 0.995), share_at_most(exposed, users, 0.995)
    lowered = exposed_users(with_boundary(mechanism, 0.8), users, max_items, seed=2)
    print(
        f"delta_T {mechanism.delta_new:.4g}, {max_items} items each, cap {cap}: {exposed / users:.4g} of users exposed "
        f"(99 % limits {low:.4g} to {high:.4g}); {lowered / users:.4g} with a boundary a fifth lower"
    )
    assert share_at_least(exposed, users) <= mechanism.delta_new
    assert share_at_least(lowered, users) > mechanism.delta_new
