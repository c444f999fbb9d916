"""Levels whose candidates are all valid n-grams: equal to the slow twin, and what they are called with."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import reference
from normals import computed_normals

import dpsu
from dpsu.algorithms.domain import Joins
from dpsu.algorithms.focused import FocusedGaussian
from dpsu.algorithms.levels import LevelsJob, plan_levels
from dpsu.algorithms.public_items import Listed
from dpsu.algorithms.request import Request
from dpsu.algorithms.unheld import draw_unheld, drawn_stream, sequences
from dpsu.engines.local import LocalEngine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Purpose, Stream
from dpsu.sets.keys import row_digests
from dpsu.sources.ngrams import ngram_sets, unigrams
from dpsu.sources.source import Source

ROUNDS = FocusedGaussian().rounds
WORDS = "abcdefgh"


def some_texts(seed):
    """Texts of letters, in which some pairs are frequent, some rare and most do not occur."""
    rng = np.random.default_rng(seed)
    rare = [a + " " + b for a in WORDS for b in WORDS[:3]]
    rows = [["a b", "b c", *rng.choice(rare, rng.integers(0, 5))] for _ in range(60)]
    return {n: [" . ".join(row), *WORDS] for n, row in enumerate(rows)}


@pytest.mark.parametrize("seed", range(6))
def test_a_level_is_the_twins(seed):
    texts, stream = some_texts(seed), Stream(bytes([seed]) * 32)
    levels, _ = plan_levels(Request(6.0, 0.01), 2, 100, false_share=0.4)
    source = Source.of(texts, text=True, ngrams=(1, 2), tokenizer="whitespace")
    job = LevelsJob(levels, source.text, false_share=0.4)
    with LocalEngine(1) as engine:
        corpus = job.read(engine, source, Listed(), stream)
        released = job.select(engine, corpus, Listed(), stream, print).names["ngram"].to_list()
    words = {item for item in released if " " not in item}

    single = ngram_sets(corpus, [unigrams(corpus)])
    names = [single.names.decode(np.array([n])).item() for n in range(single.n_items)]
    codes = [code for code, name in zip(single.names.numbers, names, strict=True) if name in words]
    spelt = dict(zip(single.names.numbers, names, strict=True))
    parts = np.array(codes, np.uint32).reshape(-1, 1)
    domain, own = Joins(parts, corpus.vocabulary.digests), stream.step(2)
    mechanism = levels[1].listed(len(words), len(domain))

    sets = [
        {f"{a} {b}" for text in own_texts for a, b in pairwise(text.split()) if {a, b} <= words}
        for own_texts in texts.values()
    ]
    held = sorted(set().union(*sets))
    members = draw_unheld(mechanism, len(domain), own).members
    drawn = [f"{spelt[a]} {spelt[b]}" for a, b in domain.words(members).tolist()]
    listed = [*held, *drawn]
    digests = row_digests(reference_frame(held), stream.digest_key)
    own_words = drawn_stream(sequences(mechanism), len(members), ROUNDS, own).drawn
    normals = []
    for r in range(ROUNDS):
        both = np.concatenate([own.words(Purpose.NOISE, r, digests), own_words[:, r]])
        normals.append(dict(enumerate(computed_normals(both)[0])))
    # Members that were drawn although somebody holds them change nothing.
    counted = {n for n, item in enumerate(listed) if n < len(held) or item not in held}
    rows = [sorted(held.index(item) for item in own_set) for own_set in sets]
    _, found = reference.with_candidates(rows, counted, normals, mechanism)
    assert sorted(item for item in released if " " in item) == sorted(listed[n] for n in found)
    assert len(words) == len(WORDS) + 1
    assert {"a b", "b c"} <= set(released)


@pytest.mark.parametrize("how", [{"false_share": 0.5}, {"method": "dpne"}])
def test_the_order_of_the_text_does_not_matter(how):
    rng = np.random.default_rng(3)
    texts = [(n, " ".join(f"w{word}" for word in rng.zipf(1.5, 12) % 80)) for n in range(1500)]
    found = []
    for rows in (texts, texts[::-1]):
        frame = pl.DataFrame(rows, schema=["user", "text"], orient="row")
        with dpsu.testing.seeded(1):
            out = dpsu.ngrams(
                frame, user="user", text="text", epsilon=2, delta=1e-4, check_user=False, longest=3, **how
            )
        found.append(out.items)
    assert found[0] == found[1]
    written = " . ".join(text for _, text in texts)
    assert any(item not in written for item in found[0])


def reference_frame(names):
    return pl.DataFrame({"ngram": pl.Series(names, dtype=pl.String)})


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"longest": 1}, "two words"),
        ({"method": "dpne"}, "focused-gaussian"),
        ({"false_share": 0.0}, "false_share"),
        ({"false_share": 0.6}, "false_share"),
        ({"public_items": ["a"]}, "public"),
        ({"exclude": ["a"]}, "public"),
    ],
)
def test_false_shares_that_make_no_sense_are_refused(how, told):
    with pytest.raises(InvalidArgument, match=told):
        dpsu.ngrams({1: ["a b"]}, text=True, epsilon=1, delta=1e-6, **{"false_share": 0.1, **how})


def test_a_release_says_how_many_phrases_are_false():
    texts = {n: ["to be or not to be"] for n in range(600)}
    with dpsu.testing.seeded(1):
        released = dpsu.ngrams(texts, text=True, longest=3, epsilon=1, delta=1e-6, false_share=0.01)
    assert {"to", "to be", "or not to"} <= set(released.items)
    assert "n-grams of several words" in str(released.statement)
    levels = released.statement.parameters["levels"]
    assert [level["candidates"]["count"] for level in levels[1:]] == [16, 4]
    assert released.statement.budget.delta_new == pytest.approx(levels[0]["delta_new"])


def test_an_empty_source_gives_an_empty_release():
    with pytest.warns(dpsu.EmptyRelease):
        released = dpsu.ngrams({1: [""]}, text=True, false_share=0.1, epsilon=1, delta=1e-6)
    assert released.items == []
    assert dpsu.verify(released.statement).ok


def test_counts_cover_phrases_that_nobody_wrote():
    rng = np.random.default_rng(1)
    texts = {n: [" ".join(rng.permutation([*"abcdefghijkl"]))] for n in range(200)}
    with dpsu.testing.seeded(1):
        released = dpsu.ngrams(
            texts, text=True, longest=2, epsilon=8, delta=1e-6, false_share=0.5, counts=True
        )
    frame = released.to_polars()
    assert frame["holders"].null_count() == 0
    assert frame.columns == ["ngram", "holders", "half_width"]
