"""The worked example of docs/text.md: what Shakespeare's characters have in common, and what a k-anonymous list would tell.

    python -m experiments.shakespeare

prints the figures of the page and draws docs/images/shakespeare.png. The plays are public, so the randomness is seeded.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import dpsu
from dpsu.randomness.stream import Stream
from dpsu.sources.corpus import text_rule
from dpsu.sources.text import read_text
from dpsu.sources.tokenize import word_rule

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "shakespeare.png"
EPSILONS = (1, 3, 10)
DELTA = 5e-6
K = 20


def main() -> None:
    plays = dpsu.datasets.load("shakespeare_speakers")
    speakers = speakers_of(plays)
    releases = {}
    for epsilon in EPSILONS:
        with dpsu.testing.seeded(0):
            releases[epsilon] = dpsu.release(
                plays, user="uid", text="text", epsilon=epsilon, delta=DELTA, algorithm="focused-gaussian"
            ).items
        fewest = min(speakers[word] for word in releases[epsilon])
        print(f"epsilon {epsilon}: {len(releases[epsilon]):,} words; the rarest is spoken by {fewest}")
    print(f"held by {K} or more: {sum(n >= K for n in speakers.values()):,} of {len(speakers):,} words")
    leaks(plays, speakers)
    draw(speakers, releases)


def speakers_of(plays: pl.DataFrame) -> dict[str, int]:
    """How many characters speak each word."""
    rule = text_rule("text")
    assert rule is not None
    sets = read_text(plays, rule, user="uid", stream=Stream(bytes(32), seeded=True))
    names = sets.names.decode(np.arange(sets.n_items), beside={"speakers": np.bincount(sets.items)})
    return dict(names.iter_rows())


def leaks(plays: pl.DataFrame, speakers: dict[str, int]) -> None:
    """Who could be read out of a list of all words that K characters speak, by whoever knows the others."""
    at_edge = {word for word, n in speakers.items() if n == K}
    exposed = {}
    for author, text in plays.group_by("author").agg(pl.col("text").str.join("\n")).iter_rows():
        exposed[author] = sorted(set(word_rule("words").split(text)) & at_edge)
    touched = {author: words for author, words in exposed.items() if words}
    print(
        f"{len(at_edge)} words stand at exactly {K}; {len(touched)} of {len(exposed)} characters speak some of them"
    )
    for author in sorted(touched, key=lambda name: -len(touched[name]))[:3]:
        print(
            f"without {author} the list loses {len(touched[author])} words: {', '.join(touched[author][:12])} …"
        )


def draw(speakers: dict[str, int], releases: dict[int, list[str]]) -> None:
    """The share of words released, by the number of characters who speak them."""
    edges = np.unique(np.geomspace(1, 1000, 22).round())
    counts = np.array([*speakers.values()])
    figure, axes = plt.subplots(figsize=(7, 3.6), constrained_layout=True)
    middles = np.sqrt(edges[:-1] * (edges[1:] - 1).clip(edges[:-1]))
    for epsilon, words in releases.items():
        released = set(words)
        chosen = np.array([word in released for word in speakers])
        shares = np.histogram(counts[chosen], edges)[0] / np.histogram(counts, edges)[0].clip(1)
        axes.plot(middles, shares, marker="o", markersize=3, label=f"epsilon {epsilon}")
    axes.step([1, K, K, 1000], [0, 0, 1, 1], color="grey", linestyle="--", label=f"{K}-anonymous list")
    axes.set(xscale="log", xlabel="characters who speak the word", ylabel="share of such words released")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
