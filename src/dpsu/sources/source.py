"""The description of the data: its columns, and how text becomes items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpsu.sources.columns import ColumnNames, key_columns
from dpsu.sources.corpus import RULES, TextRule, Tokenizer, UserPer, function_name, text_rule
from dpsu.sources.icu import icu_version
from dpsu.sources.layout import PLAIN, Layout
from dpsu.sources.values import Bounds

FORMS = {"line": "lines", "file": "files"}
"""The name of `user_per` in a statement."""


@dataclass(frozen=True, repr=False)
class Source:
    """The arguments that describe data, checked before any data is read.

    `data` is a path, glob, list of paths, frame or collection. `text` is the rule that makes items from text, or None
    if the column `item` contains them. `sums` are the columns that are summed.
    """

    data: Any
    user: ColumnNames | None = None
    item: ColumnNames | None = None
    text: TextRule | None = None
    drop_nulls: bool = False
    format: str | None = None
    layout: Layout = PLAIN
    sums: Mapping[str, Bounds] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        user: ColumnNames | None = None,
        item: ColumnNames | None = None,
        text: str | bool | None = None,
        ngrams: int | Sequence[int] = 1,
        tokenizer: Tokenizer = "words",
        user_per: UserPer | None = None,
        drop_nulls: bool = False,
        format: str | None = None,
        encoding: str | None = None,
        separator: str | None = None,
        sheet: str | None = None,
        query: str | None = None,
    ) -> "Source":
        """The source for the keyword arguments of a public function."""
        rule = text_rule(text, item=item, ngrams=ngrams, tokenizer=tokenizer, user_per=user_per)
        layout = Layout(encoding, separator, sheet, query)
        return cls(data, user, item, rule, drop_nulls, format, layout)

    def __repr__(self) -> str:
        return "Source(<private>)"

    def described(self) -> dict[str, Any]:
        """The description of the data in the statement: the columns of users and items, or how text becomes items."""
        described: dict[str, Any] = {"form": self.form}
        if described["form"] == "columns":
            described["user"] = key_columns(self.user, "user")
            if self.text is None:
                described["item"] = key_columns(self.item, "item")
        if self.text is not None:
            described["text"] = self.text.column
            described["tokenizer"] = _tokenizer_name(self.text.tokenizer)
            described["ngrams"] = list(self.text.sizes)
        return described

    @property
    def item_columns(self) -> list[str]:
        """The columns of a released item."""
        if self.text is not None:
            return [self.text.name]
        return key_columns(self.item, "item") if self.form == "columns" else ["item"]

    @property
    def form(self) -> str:
        """Where users and items are: in columns, in a collection of Python values, or in lines or files of text."""
        if self.text is not None and self.text.user_per is not None:
            return FORMS[self.text.user_per]
        text_column = self.text is not None and self.text.column is not None
        named = self.user is not None or self.item is not None or text_column
        return "columns" if named else "collection"


def _tokenizer_name(tokenizer: Tokenizer) -> dict[str, str]:
    """The description of a tokenizer in the statement: a rule, a regular expression, or a function of the caller."""
    if callable(tokenizer):
        return {"kind": "function", "name": function_name(tokenizer)}
    if tokenizer == "icu":
        return {"kind": "rule", "name": tokenizer, "version": icu_version()}
    return {"kind": "rule" if tokenizer in RULES else "pattern", "name": tokenizer}
