"""User sets: reading files, frames and text, encoding."""

import numpy as np
import polars as pl

from dpsu.sets.columns import ColumnNames
from dpsu.sets.ngrams import read_text
from dpsu.sets.read import read_sets
from dpsu.sets.text import Tokenizer, UserPer, text_rule
from dpsu.sets.user_sets import Names, UserSets

__all__ = ["ColumnNames", "Names", "Tokenizer", "UserPer", "UserSets", "read_sets", "read_text", "text_rule"]

# Polars fetches numpy on first use, and two threads that do so at once break it: here it happens before any thread.
pl.Series(np.zeros(0))
