"""Lists of the caller: public items, which are always released at no cost, and excluded items, which never are.

Neither takes part in a release: users give nothing to them, so their budgets go to other items. Which items are listed
says nothing about the data, as long as the list was not made from it. What is listed for a text goes through the text's
tokenizer first. Lists may be sensitive themselves: errors name the place of an entry and never the entry.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from dpsu.algorithms.holders import Counting
from dpsu.algorithms.lists import canonical, digests_of, frame_of, sorted_rows, typed
from dpsu.algorithms.measures import Measured, beside_candidates, mark_found, measured
from dpsu.engines.contract import Columns, Engine
from dpsu.errors import InvalidArgument
from dpsu.randomness.stream import Stream
from dpsu.sets.user_sets import Digests, among, detached
from dpsu.sources.corpus import TextRule, phrases, runs_of, tokenise
from dpsu.sources.discreet import discreet

RESPELT = "Some public items are written differently by the tokenizer; they come out as it writes them."
NO_ITEM = "Some public items are left out: the tokenizer makes none of the items of this text from them."


@dataclass(frozen=True, repr=False)
class Listed:
    """The two lists as frames: in whatever types they came, or as items of the text.

    `notes` are for the curator and depend on the lists alone. `letters` says that items are n-grams of single letters.
    """

    public: pl.DataFrame | None = None
    excluded: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    letters: bool = False

    def __bool__(self) -> bool:
        return self.public is not None or self.excluded is not None

    @property
    def public_count(self) -> int:
        """The number of distinct public items."""
        return len(self._public_rows)

    @property
    def excluded_count(self) -> int:
        """The number of distinct excluded items."""
        return len(self._excluded_rows)

    @property
    def public_sha256(self) -> str | None:
        """The digest of the public items (see `canonical`), or None if none are listed."""
        return None if self.public is None else hashlib.sha256(canonical(self._public_rows)).hexdigest()

    def excluded_sha256(self, salt: bytes) -> str | None:
        """The digest of the salt and then the excluded items (see `canonical`), or None if none are listed.

        Short lists can be guessed from a digest without a salt.
        """
        if self.excluded is None:
            return None
        return hashlib.sha256(salt + canonical(self._excluded_rows)).hexdigest()

    def described(self, salt: bytes) -> dict[str, Any]:
        """What the statement says of the lists: lengths and digests; that of `exclude` is salted."""
        described: dict[str, Any] = {}
        if self.public is not None:
            described["public_items"] = {"count": self.public_count, "sha256": self.public_sha256}
        if self.excluded is not None:
            salted = self.excluded_sha256(salt)
            described["exclude"] = {"count": self.excluded_count, "salted_sha256": salted}
        return described

    @cached_property
    def _public_rows(self) -> list[list[list[str]]]:
        return sorted_rows(self.public)

    @cached_property
    def _excluded_rows(self) -> list[list[list[str]]]:
        return sorted_rows(self.excluded)

    def require_fit(self, engine: Engine, sets: Any, stream: Stream) -> None:
        """Refuse lists of other types than the data's items, and items that are on both lists."""
        if self:
            public, excluded = self._digests(engine, sets, stream)
            if among(public, excluded).any():
                raise InvalidArgument("an item is both public and excluded; it can be one of them.")

    def require_apart(self, engine: Engine, sets: Any, stream: Stream) -> None:
        """Refuse public or excluded items that are candidates too."""
        listed = getattr(sets, "list_digests", None)
        if not self or listed is None:
            return
        for name, own in zip(("public", "excluded"), self._digests(engine, sets, stream), strict=True):
            if among(own, listed).any():
                raise InvalidArgument(f"an item is both {name} and a candidate; it can be one of them.")

    def leave_out(self, engine: Engine, sets: Any, stream: Stream) -> Any:
        """The sets as if nobody held a listed item."""
        return engine.leave_out(sets, np.concatenate(self._digests(engine, sets, stream))) if self else sets

    def _digests(self, engine: Engine, sets: Any, stream: Stream) -> tuple[Digests, Digests]:
        """The digests of the public items and of the excluded ones."""
        types = engine.item_types(sets)
        public, excluded = typed(self.public, types, "public_items"), typed(self.excluded, types, "exclude")
        return digests_of(public, stream), digests_of(excluded, stream)

    def of_size(self, words: int) -> "Listed":
        """The listed n-grams of this number of words."""

        def chosen(frame: pl.DataFrame | None) -> pl.DataFrame | None:
            if frame is None:
                return None
            if self.letters:
                counts = [*map(len, runs_of(tokenise(frame.to_series(), "chars")))]
                return frame.filter(pl.Series(counts, dtype=pl.Int64) == words)
            return frame.filter(pl.all().str.count_matches(" ", literal=True) == words - 1)

        return Listed(chosen(self.public), chosen(self.excluded), letters=self.letters)

    def _with_public(self, engine: Engine, sets: Any, items: Any, stream: Stream) -> Any:
        """The items, those that are public and held marked as released."""
        if self.public is None:
            return items
        public, _ = self._digests(engine, sets, stream)
        return engine.attach(items, partial(_release_too, digests=public))

    def names(
        self,
        engine: Engine,
        sets: Any,
        items: Any,
        counting: Counting | None,
        stream: Stream,
        here: bool = False,
    ) -> Measured:
        """The output: released and public items, with noisy counts of their holders if asked.

        With `here` the names come into the memory of this process, wherever the engine keeps them.
        """
        if not (self or counting or here):
            return Measured(engine.names(sets, items), items=items)
        types = engine.item_types(sets)
        public = typed(self.public, types, "public_items")
        digests = digests_of(public, stream)
        if counting:
            items = engine.update(items, mark_found)
        shown = self._with_public(engine, sets, items, stream)
        unheld = engine.missing(shown, digests)
        absent = public.filter(unheld)
        if counting:
            _, excluded = self._digests(engine, sets, stream)
            made = measured(engine, sets, shown, absent, digests[unheld], excluded, counting, stream)
            return replace(made, items=shown)
        held = engine.frame(sets, shown)
        names = pl.concat([held, beside_candidates(absent, held)])
        return Measured(detached(names.sort(types.names())), items=shown)


def _release_too(columns: Columns, digests: Digests) -> Columns:
    """The items with these digests as released."""
    return {"released": columns["released"] | among(columns["digest"], digests)}


@discreet
def read_lists(public_items: Any, exclude: Any, rule: TextRule | None = None) -> Listed:
    """The lists that the caller gives: a Path to a file, a frame or series, or any iterable of items.

    With the `rule` of a text they become items of that text: a tokenizer that lower-cases makes "the" from "The". An entry
    that cannot be an item of the text is refused in `exclude`, where it would silently exclude nothing, and left out of
    `public_items` with a note.
    """
    public, excluded = frame_of(public_items, "public_items"), frame_of(exclude, "exclude")
    if rule is None:
        return Listed(public, excluded)
    notes: tuple[str, ...] = ()
    if public is not None:
        entries = _entries(public, rule, "public_items")
        items = phrases(entries, rule)
        respelt, none = (entries != items).any(), items.null_count() > 0
        notes = (RESPELT,) * respelt + (NO_ITEM,) * none
        public = items.drop_nulls().to_frame(rule.name)
    if excluded is not None:
        items = phrases(_entries(excluded, rule, "exclude"), rule)
        _require_items(items, rule)
        excluded = items.to_frame(rule.name)
    return Listed(public, excluded, notes, letters=rule.tokenizer == "chars")


def _entries(listed: pl.DataFrame, rule: TextRule, role: str) -> pl.Series:
    """The entries of a list for a text: one column of strings."""
    column = listed.select(rule.name if rule.name in listed.columns else pl.all())
    if column.width != 1 or column.dtypes[0] not in (pl.String, pl.Null):
        raise InvalidArgument(f"{role} must be one column of strings: items of a text are words or n-grams.")
    return column.to_series().cast(pl.String).fill_null("")


def _require_items(items: pl.Series, rule: TextRule) -> None:
    """Refuse the first entry that is no item of the text, by its place."""
    wrong = items.is_null().arg_true()
    if len(wrong):
        sizes = " or ".join(map(str, rule.sizes))
        raise InvalidArgument(
            f"entry {wrong[0] + 1} of exclude cannot be an item, so it would exclude nothing: items of this text have "
            f"{sizes} word(s), and the tokenizer makes another number of words from the entry. Remove it or list its words."
        )
