"""n-grams in levels: what may come out, what it costs, and that absent n-grams come out as often as they must."""

import itertools
import math

import pytest

import dpsu
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Stream

PRIVACY = {"epsilon": 8.0, "delta": 1e-6}
METHODS = ("focused-gaussian", "dpne")

CORPUS = {
    n: ["the quick brown fox", f"my secret{n} word" if n % 2 else "the lazy dog sleeps", f"secret{n}"]
    for n in range(600)
}


def stream(n: int) -> Stream:
    return Stream(n.to_bytes(32, "little"))


@pytest.mark.parametrize("method", METHODS)
def test_what_many_share_comes_out_and_nothing_else(method: str) -> None:
    with dpsu.testing.seeded(1):
        release = dpsu.ngrams(CORPUS, text=True, longest=4, max_items=20, method=method, **PRIVACY)  # type: ignore[arg-type]
    assert {"the", "quick", "the quick", "quick brown fox", "the quick brown fox", "lazy dog", "my"} <= set(
        release
    )
    assert "fox the" not in release  # across the end of a row
    assert not any("secret" in item for item in release)
    assert release.items == sorted(set(release.items))


@pytest.mark.parametrize("method", METHODS)
def test_parts_of_what_is_released_are_released(method: str) -> None:
    frame = dpsu.datasets.load("arxiv_titles_small")
    with dpsu.testing.seeded(2):
        release = dpsu.ngrams(frame, user="author", text="text", epsilon=3, delta=1e-5, method=method)  # type: ignore[arg-type]
    sizes = {len(item.split()) for item in release}
    assert sizes == {1, 2, 3}
    for item in release:
        words = item.split()
        if len(words) > 1:
            assert " ".join(words[1:]) in release
            assert " ".join(words[:-1]) in release


def test_dpne_makes_up_ngrams_and_focused_does_not() -> None:
    frame = dpsu.datasets.load("arxiv_titles_small")
    written = set()
    for text in frame["text"].str.to_lowercase().str.extract_all("[a-z0-9]+"):
        written |= {f"{a} {b}" for a, b in itertools.pairwise(text)}
    made_up = {}
    for method in METHODS:
        with dpsu.testing.seeded(3):
            release = dpsu.ngrams(
                frame,
                user="author",
                text="text",
                longest=2,
                epsilon=3,
                delta=1e-5,
                method=method,  # type: ignore[arg-type]
            )
        made_up[method] = [item for item in release if item.isascii() and " " in item and item not in written]
    assert not made_up["focused-gaussian"]
    assert 5 < len(made_up["dpne"]) < 100


def test_the_statement_tells_every_level() -> None:
    release = dpsu.ngrams(CORPUS, text=True, longest=2, max_items=(50, 20), **PRIVACY)
    assert release.statement is not None
    assert release.statement.void is None
    levels = release.statement.parameters["levels"]
    assert [(level["size"], level["share"], level["max_items"]) for level in levels] == [
        (1, 0.5, 50),
        (2, 0.5, 20),
    ]
    assert math.isclose(levels[0]["sigma"], math.sqrt(2) / release.statement.budget.mu)
    assert dpsu.Statement.from_json(release.statement.to_json()).epsilon == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"longest": 0}, "longest"),
        ({"method": "greedy"}, "method"),
        ({"level_shares": (0.5, 0.5)}, "one number per level"),
        ({"level_shares": 0.5}, "level_shares"),
        ({"level_shares": "abc"}, "level_shares"),
        ({"level_shares": (None, 0.5, 0.5)}, "level_shares"),
        ({"max_items": None}, "max_items"),
        ({"longest": True}, "longest"),
        ({"level_shares": (0.9, 0.9, 0.9)}, "sum to at most 1"),
        ({"max_items": (1, 2)}, "one number per level"),
    ],
)
def test_levels_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        dpsu.ngrams(CORPUS, text=True, **PRIVACY, **arguments)  # type: ignore[arg-type]


def test_an_empty_source_gives_an_empty_release() -> None:
    for method in METHODS:
        with pytest.warns(dpsu.EmptyRelease):
            assert dpsu.ngrams({1: [""]}, text=True, max_items=5, method=method, **PRIVACY).items == []  # type: ignore[arg-type]
