"""Forged statements, one idea each, all with the digest that a careful forger would write: none may be accepted.

Each line of the tables is an idea, named by its id, and applied to an honest statement of honest.py.
"""

import json
from pathlib import Path

import pytest
from forged_auto import FORGED_AUTO
from forged_choices import OLD, TUNED
from forged_forms import CLAIMS_AND_DATA, FORM
from forged_lists import FORGED_LISTS
from forged_rounds import COUNTS, NGRAMS, ROUNDS
from forged_sums import IN_ORDER, L1, POLICIES, SUMS
from honest import MAKERS, OF_0_1, Change, honest, mended

from dpsu.verification.verify import verify

FORGERIES = [
    *FORM,
    *CLAIMS_AND_DATA,
    *L1,
    *POLICIES,
    *IN_ORDER,
    *SUMS,
    *ROUNDS,
    *COUNTS,
    *FORGED_LISTS,
    *FORGED_AUTO,
    *NGRAMS,
    *TUNED,
    *OLD,
]

JSON_FORGERIES = {
    "epsilon named twice": lambda text: text.replace('"epsilon"', '"epsilon": 0.001, "epsilon"', 1),
    "parameter named twice": lambda text: text.replace('"sigma"', '"sigma": 99, "sigma"', 1),
    "NaN in an unread place": lambda text: text.replace('"note": null', '"note": NaN', 1),
    "infinite noise": lambda text: text.replace('"sigma"', '"sigma": Infinity, "_"', 1),
    "number beyond doubles": lambda text: text.replace('"note": null', '"note": 1e999', 1),
    "digest left as it was": lambda text: text.replace('"epsilon": 1.0', '"epsilon": 0.5', 1),
    "digest left out": lambda text: text.replace('"digest"', '"old digest"', 1),
    "digest in capitals": lambda text: (
        text[: text.rindex('"digest"')] + text[text.rindex('"digest"') :].upper()
    ),
}
"""Ideas about the text of a statement."""


@pytest.mark.parametrize("name", [*MAKERS, *(f"0.1: {path.stem}" for path in sorted(OF_0_1.glob("*.json")))])
def test_the_honest_statement_is_accepted(name: str) -> None:
    found = verify(honest(name))
    assert found.ok, str(found)


@pytest.mark.parametrize(
    ("base", "change"), [each[1:] for each in FORGERIES], ids=[each.idea for each in FORGERIES]
)
def test_a_forged_statement_is_rejected(base: str, change: Change) -> None:
    fields = honest(base)
    change(fields)
    assert json.dumps(fields) != json.dumps(honest(base))
    found = verify(mended(fields))
    assert not found.ok, str(found)


@pytest.mark.parametrize("idea", JSON_FORGERIES)
def test_a_forged_file_is_rejected(idea: str, tmp_path: Path) -> None:
    text = json.dumps(honest("weighted-gaussian"))
    assert JSON_FORGERIES[idea](text) != text
    (tmp_path / "statement.json").write_text(JSON_FORGERIES[idea](text), encoding="utf-8")
    assert not verify(tmp_path / "statement.json").ok


def test_every_idea_is_counted_once() -> None:
    ideas = [*(each.idea for each in FORGERIES), *JSON_FORGERIES]
    print(f"{len(ideas)} forgeries")
    assert len({*ideas}) == len(ideas)
    assert len(ideas) >= 400
