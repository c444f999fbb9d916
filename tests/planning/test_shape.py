"""Shapes: what is drawn has the sizes, the law and, made smaller, the holders that were asked for."""

import numpy as np
import pytest

import dpsu
from dpsu.errors import InvalidArgument


def drawn(shape, popular=1000.0, factor=1.0):
    return shape.draw(np.random.default_rng(3), popular, factor)


@pytest.mark.parametrize("sizes", ["fixed", "heavy"])
def test_sets_have_the_mean_size_and_no_item_twice(sizes):
    shape = dpsu.Shape(users=20_000, items_per_user=4.5, sizes=sizes)
    found = drawn(shape)
    assert len(found.sizes) == 20_000
    assert found.sizes.min() >= 1
    assert found.sizes.mean() == pytest.approx(4.5, rel=0.05)
    assert (found.sizes.max() > 5) == (sizes == "heavy")
    users = np.repeat(np.arange(20_000), found.sizes)
    assert len(np.unique(np.stack([users, found.items]), axis=1).T) == len(users)


def test_items_follow_zipf_s_law():
    holders = np.bincount(drawn(dpsu.Shape(users=50_000, items_per_user=1, zipf=1.3, items=1000)).items)
    assert holders[0] / holders[9] == pytest.approx(10**1.3, rel=0.05)


def test_a_smaller_shape_keeps_rare_items_holders_and_stands_for_all_items():
    shape = dpsu.Shape(users=400_000, items_per_user=1, items=50_000)
    whole, part = drawn(shape), drawn(shape, popular=200.0, factor=20.0)
    assert len(part.sizes) == 20_000
    assert part.stands_for.sum() == shape.items
    counts = [np.bincount(each.items, minlength=len(each.stands_for)) for each in (whole, part)]
    rare = [
        float(each.stands_for[(count >= 5) & (count < 50)].sum())
        for each, count in zip((whole, part), counts, strict=True)
    ]
    assert rare[1] == pytest.approx(rare[0], rel=0.05)
    assert (counts[1][part.stands_for <= 10] > 100).all()


@pytest.mark.parametrize("factor", [1.25, 1.7, 4.0])
def test_items_keep_their_holders_at_every_factor(factor):
    shape = dpsu.Shape(users=200_000, items_per_user=2, items=20_000)
    whole, part = drawn(shape), drawn(shape, popular=300.0, factor=factor)
    counts = [np.bincount(each.items, minlength=len(each.stands_for)) for each in (whole, part)]
    for holders in (10, 20, 50, 100):
        kept = [
            float(each.stands_for[count >= holders].sum())
            for each, count in zip((whole, part), counts, strict=True)
        ]
        assert kept[1] == pytest.approx(kept[0], rel=0.04), holders


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"users": 2.5},
        {"users": 10**8},
        {"items_per_user": 0.5},
        {"items_per_user": float("nan")},
        {"zipf": -1},
        {"items": 0},
        {"sizes": "large"},
        {"items_per_user": 900, "items": 900},
        {"items_per_user": 900, "zipf": 3.0},
    ],
)
def test_shapes_that_cannot_be_drawn_are_refused(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        dpsu.Shape(**{"users": 1000, "items_per_user": 3, **wrong})
