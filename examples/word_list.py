"""A public list of words beside private text: more words at the same privacy, and a few that nobody wrote.

    apt install wamerican-huge
    python examples/word_list.py [/usr/share/dict/american-english-huge]

The text is the bundled set of paper titles, which is public, so the words that nobody wrote can be counted. Any file with
one word per line is a list.
"""

import sys
from pathlib import Path

import dpsu

dictionary = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/dict/american-english-huge")
if not dictionary.exists():
    sys.exit(f"there is no {dictionary}: run apt install wamerican-huge, or give the path of another list")

frame = dpsu.datasets.load("arxiv_titles_small")
how = {"user": "author", "text": "text", "epsilon": 3, "delta": 1e-6}

# Without a list: what a release does by itself. With it: the same privacy, and at most 1 % false on average.
without = dpsu.release(frame, **how)
release = dpsu.release(frame, candidates=dictionary, false_share=0.01, **how)
print(f"{len(without):,} words without the list, {len(release):,} with it")

# The output says which words are listed. Only these can be false.
listed = release.to_polars().filter("listed")["word"]
written = dpsu.datasets.words(frame, user="author", text="text")["word"].unique()
false = listed.filter(~listed.is_in(written.implode()))
print(
    f"{len(listed):,} of them are listed, and nobody wrote {len(false):,} of these: {false.head(5).to_list()}"
)
print(dpsu.verify(release.statement).ok)
