"""For the site: blocks ```formula become typeset lines, without a script or a network. Options are not broken at hyphens.

The notation is that of the pages' text, so the source reads well in a terminal: `delta_G`, `e^epsilon`, `e^(epsilon x)`,
`A_{r+1}`, `sqrt(t)`, `<=`. Names of several letters that are no Greek letters stay upright.
"""

import re
from html import escape
from typing import Any

BLOCK = re.compile(r"^```formula\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"<code>(--?[a-z][a-z-]*)</code>")
GREEK = {
    "alpha": "α", "beta": "β", "delta": "δ", "epsilon": "ε", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ",
    "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "Phi": "Φ", "Psi": "Ψ",
}  # fmt: skip
SIGNS = {"<=": "≤", ">=": "≥", "-": "−", "*": "·", "'": "′", "sqrt": "√"}
ANGLES = {"<": "⟨", ">": "⟩"}
"""The brackets of an inner product; between spaces these signs compare."""

TOKEN = re.compile(r"[^\W\d_²³⁴⁵⁸⁹]+|\d+(?:\.\d+)?|<=|>=|\s+|.")
CLOSING = {"(": ")", "{": "}"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Typeset the formulas of a page."""
    return BLOCK.sub(lambda found: block(found[1]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Mark options, so that a line is not broken at their hyphens."""
    return OPTION.sub(r'<code class="option">\1</code>', html)


def block(text: str) -> str:
    """The lines of one block as HTML."""
    lines = "".join(f"<div>{typeset(TOKEN.findall(line))}</div>" for line in text.splitlines())
    return f'<div class="formula">{lines}</div>'


def typeset(tokens: list[str]) -> str:
    """The tokens as HTML; what follows `_` or `^` is set lower or higher."""
    parts, place = [], 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if token in ("_", "^"):
            end = _end_of_script(tokens, place)
            tag = "sub" if token == "_" else "sup"
            parts.append(f"<{tag}>{typeset(_bare(tokens[place:end]))}</{tag}>")
            place = end
        elif token in ANGLES and not tokens[max(place - 2, 0)].isspace():
            parts.append(ANGLES[token])
        else:
            parts.append(_sign(token))
    return "".join(parts)


def _end_of_script(tokens: list[str], start: int) -> int:
    """Where an index or an exponent ends: after a group, or after a name or number with its sign and its own index."""
    end = start + (tokens[start] == "-")
    if tokens[end] in CLOSING:
        depth = 0
        for place in range(end, len(tokens)):
            depth += (tokens[place] == tokens[end]) - (tokens[place] == CLOSING[tokens[end]])
            if depth == 0:
                return place + 1
    end += 1
    while end + 1 < len(tokens) and tokens[end] == "_" and tokens[start - 1] == "^":
        end = _end_of_script(tokens, end + 1)
    return end


def _bare(tokens: list[str]) -> list[str]:
    """An index or exponent without the brackets that only hold it together."""
    return tokens[1:-1] if tokens[0] in CLOSING else tokens


def _sign(token: str) -> str:
    if token in GREEK:
        return f"<i>{GREEK[token]}</i>"
    if token.isspace():
        return " " if len(token) == 1 else "&emsp;"
    if len(token) == 1 and token.isalpha():
        return f"<i>{token}</i>"
    return SIGNS.get(token) or escape(token)
