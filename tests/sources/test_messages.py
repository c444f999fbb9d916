"""Errors about data name the column or the function, and no value."""

import pandas as pd
import pytest

import dpsu
from dpsu.report.numbers import counted

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}


def test_mixed_types_name_the_column() -> None:
    frame = pd.DataFrame({"who": [1, 2], "what": ["secret", 3]})
    with pytest.raises(dpsu.DpsuError) as error:
        dpsu.release(frame, user="who", item="what", **PRIVACY)
    assert "'what'" in str(error.value)
    assert "'who'" not in str(error.value)
    assert "secret" not in str(error.value)


def test_a_tokenizer_that_returns_nothing_is_named() -> None:
    def forgets_to_return(text: str) -> None:
        text.split()

    with pytest.raises(dpsu.DpsuError, match=r"forgets_to_return.*None"):
        dpsu.release({1: ["a b"]}, text=True, tokenizer=forgets_to_return, **PRIVACY)


def test_one_item_is_singular() -> None:
    assert [counted(1), counted(0.6), counted(2000)] == ["1 item", "1 item", "2,000 items"]
    assert "1 items" not in repr(dpsu.release({n: ["bread"] for n in range(900)}, **PRIVACY))
    assert "1 item" in dpsu.plan(**PRIVACY).table().columns


@pytest.mark.parametrize("function", [dpsu.release, dpsu.ngrams, dpsu.plan, dpsu.compare])
def test_maxitems_suggests_max_items(function: object) -> None:
    with pytest.raises(dpsu.DpsuError, match="max_items"):
        function(maxitems=3)  # type: ignore[operator]
