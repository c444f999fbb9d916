"""`dpsu ngrams`."""

from enum import StrEnum
from typing import Annotated

import typer

import dpsu
from dpsu.cli.options import EngineOptions, ListOptions, MaxItems, PrivacyOptions, RecordOptions, TextOptions
from dpsu.cli.outputs import OutputOptions
from dpsu.cli.terminal import notes, stages
from dpsu.errors import InvalidArgument


class MethodName(StrEnum):
    """How the levels of n-grams decide."""

    focused = "focused-gaussian"
    dpne = "dpne"


def ngrams(
    data: TextOptions,
    outputs: OutputOptions,
    privacy: PrivacyOptions,
    lists: ListOptions,
    record: RecordOptions,
    where: EngineOptions,
    longest: Annotated[int, typer.Option(help="Number of words of the longest n-grams, and of levels.")] = 3,
    level_shares: Annotated[
        str | None,
        typer.Option(help="Share of the budget per level, such as 0.5,0.3,0.2; default: even shares."),
    ] = None,
    method: Annotated[
        MethodName, typer.Option(help="How levels decide; dpne also releases some n-grams that nobody wrote.")
    ] = MethodName.focused,
    false_share: Annotated[
        float | None,
        typer.Option(
            help="Release more n-grams, of which on average at most this share are ones that nobody wrote."
        ),
    ] = None,
    max_items: MaxItems = 300,
) -> None:
    """Release words and n-grams in levels. An n-gram can be released only if its parts are.

    dpsu ngrams posts.parquet --user author --text body --longest 3 --epsilon 1 --delta 1e-7 -o ngrams.parquet
    """
    outputs.check(data.files, record, lists, tokenizer=data.tokenizer)
    with stages(outputs.silent) as progress, notes(outputs.quiet):
        released = dpsu.ngrams(
            **data.arguments(),
            **privacy.arguments(),
            **lists.arguments(),
            **record.arguments(),
            **where.arguments(),
            longest=longest,
            level_shares=_shares(level_shares),
            method=method.value,
            false_share=false_share,
            max_items=max_items,
            progress=progress,
        )
    outputs.hand_over(released)


def _shares(text: str | None) -> list[float] | None:
    """The numbers that 0.5,0.3,0.2 means."""
    try:
        return [float(part) for part in text.split(",")] if text else None
    except ValueError:
        raise InvalidArgument(
            f"--level-shares takes one number per level, such as 0.5,0.3,0.2, not {text!r}."
        ) from None
