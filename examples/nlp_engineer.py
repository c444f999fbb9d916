"""An NLP engineer: a private vocabulary and private phrases of text, as a tokenizer and as features.

    python examples/nlp_engineer.py

The text is the bundled set of paper titles, which is public. Needs the extras `sklearn` and `tokenizers`.
"""

import dpsu
from dpsu.interop.sklearn import PrivateCountVectorizer

frame = dpsu.datasets.load("arxiv_titles_small")

# How many words to expect, by a guess of the shape; no text is read for this. Real text follows Zipf's law only roughly: the
# release has more words. Public text of the same kind gives a better plan: dpsu.plan(…, like=…, data_is_public=True).
plan = dpsu.plan(epsilon=3, delta=1e-7, max_items=100, shape=dpsu.Shape(25_000, 17, sizes="heavy"))
assert plan.outlook is not None
print(f"by a guessed shape, the plan expects about {plan.outlook.items:,.0f} words")

# The words of all authors, for a tokenizer that knows these words and [UNK].
words = dpsu.release(frame, user="author", text="text", epsilon=3, delta=1e-7, max_items=100, progress=True)
print(f"released {len(words):,} words")
tokenizer = words.to_tokenizer()
title = "Deep learning with private data"
encoded = tokenizer.encode(title)
print(title, "->", encoded.tokens)
assert "learning" in encoded.tokens

# Phrases of up to three words, in levels: a phrase is released only if its parts are.
phrases = dpsu.ngrams(frame, user="author", text="text", epsilon=3, delta=1e-7, longest=3, max_items=100)
longest = [phrase for phrase in phrases.items if len(phrase.split()) == 3]
print(f"released {len(phrases):,} phrases, {len(longest)} of three words, such as {longest[:3]}")

# The same in scikit-learn; `groups` says who wrote each document.
documents, authors = frame["text"].to_list(), frame["author"].to_list()
vectorizer = PrivateCountVectorizer(epsilon=3, delta=1e-6, max_items=50)
features = vectorizer.fit_transform(documents, groups=authors)
print(f"features: {features.shape[0]:,} documents, {features.shape[1]:,} words")
