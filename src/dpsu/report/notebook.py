"""Releases, plans, statements, verifications and ledgers as notebooks show them.

Everything is escaped: items, titles and columns come from elsewhere. Colours follow the notebook's own, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dpsu.outcome.columns import HALF, HOLDERS, half_name
from dpsu.outcome.ledger import Ledger
from dpsu.outcome.spending import by_period
from dpsu.outcome.statement import Statement
from dpsu.report.facts import branch_in_words, facts
from dpsu.report.measures import expected_in_words, measured_of, measures_in_words, others_in_words
from dpsu.report.numbers import counted, number, percent
from dpsu.report.plan import if_named

if TYPE_CHECKING:
    from dpsu.api.plan import Plan
    from dpsu.outcome.release import Release
    from dpsu.verification.verify import Verification

SHOWN = 10
"""Number of items that a notebook shows."""

LONGEST = 60
"""Number of characters of an item that a notebook shows."""

BLUE, GREEN, RED, GREY = "#3b78c2", "#17855f", "#c8443b", "#8a8f98"
STYLE = f"""<style>
.dpsu {{ line-height: 1.45; max-width: 60rem; }}
.dpsu p {{ margin: .3em 0; }}
.dpsu .promise {{ border-left: 4px solid {GREEN}; padding-left: .7em; }}
.dpsu .void {{ border-left-color: {RED}; }}
.dpsu .wide {{ overflow-x: auto; }}
.dpsu table {{ border-collapse: collapse; margin: .4em 0; font-variant-numeric: tabular-nums; }}
.dpsu th, .dpsu td {{ text-align: left; padding: .15em .9em .15em 0; border-bottom: 1px solid #8884; vertical-align: middle;
  background: none; white-space: normal; overflow-wrap: break-word; }}
.dpsu th:not(.n), .dpsu td:not(.n) {{ text-align: left !important; }}
.dpsu .n {{ text-align: right !important; }}
.dpsu .n {{ white-space: nowrap; }}
.dpsu td:first-child {{ min-width: 6em; }}
.dpsu svg {{ display: block; }}
.dpsu .small {{ opacity: .8; font-size: .92em; }}
</style>"""


def release_html(release: "Release") -> str:
    """The promise in one line, the first items, and counts with error bars."""
    frame = release.head(SHOWN)
    title = release.statement.title if release.statement else None
    head = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    head += f"<p><strong>{counted(len(release))}</strong> released.</p>"
    left = len(release) - frame.height
    which = "the first by name" if HOLDERS not in frame.columns else "those with the most holders"
    more = f'<p class="small">{counted(left)} more; shown are {which}.</p>' if left > 0 else ""
    told = escape(others_in_words(release.others or {}))
    others = f"<p>All other items: {told}</p>" if told else ""
    return _framed(head, promise_line(release.statement, release.warning), _items(frame), more, others)


def promise_line(statement: Statement | None, warning: str | None = None) -> str:
    """The promise in one line."""
    if statement is None:
        return f'<p class="promise void">Nothing is promised: {escape(str(warning))}</p>'
    if statement.void:
        return f'<p class="promise void">Nothing is promised: {escape(statement.void)}.</p>'
    chosen = statement.parameters.get("chosen")
    return (
        f'<p class="promise">({statement.epsilon:g}, {statement.delta:g})-differentially private for '
        f"{escape(statement.unit)}; {escape(statement.algorithm)}, max_items {statement.max_items}"
        f"{escape(f'; chosen: {branch_in_words(chosen)}') if chosen else ''}</p>"
    )


def statement_html(statement: Statement) -> str:
    """The promise, what it is about, and what it rests on and does not cover."""
    measured = measured_of(statement)
    counts = measures_in_words(measured, levels=statement.kind == "levels") if measured else None
    rows = [
        *facts(statement),
        *([("counts", counts)] if counts else []),
        ("noise", statement.noise_source),
        ("proof", f"{statement.proof}, dpsu {statement.version}"),
    ]
    title = f"<p><strong>{escape(statement.title)}</strong></p>" if statement.title else ""
    return _framed(
        title,
        promise_line(statement),
        _table((), [[escape(name), escape(value)] for name, value in rows]),
        _folded("The caller guarantees", statement.rests_on),
        _folded("Not covered", statement.not_covered),
    )


def verification_html(found: "Verification") -> str:
    """The verdict, then every check."""
    verdict = "VERIFIED: the promise follows." if found.ok else "REJECTED: the promise does not follow."
    parts = [f'<p class="promise{"" if found.ok else " void"}"><strong>{verdict}</strong></p>']
    if found.file is not None:
        which = "The same file" if found.file else "Another file"
        parts.append(
            f'<p class="promise{"" if found.file else " void"}">{which}: {escape(found.file_found)}.</p>'
        )
    rows = [["ok" if check.ok else "FAIL", escape(check.name), escape(check.found)] for check in found.checks]
    parts.append(_table(("", "check", "found"), rows))
    return _framed(*parts, _folded("Assumed", found.assumed))


def plan_html(plan: "Plan") -> str:
    """What to expect, and the chart of the chance of release."""
    request = plan.request
    terms = (
        f"{plan.algorithm}, epsilon {request.epsilon:g}, delta {request.delta:g}, max_items {plan.max_items}"
    )
    outlook, parts = plan.outlook, [f"<p><strong>{escape(terms)}</strong></p>"]
    if outlook is not None:
        parts.append(
            f"<p>Expect about <strong>{counted(outlook.items)}</strong> ({outlook.low:,.0f} to {outlook.high:,.0f}) "
            f"from {escape(outlook.data)}. {if_named(outlook)}</p>"
        )
        curve, about = outlook.curve(12), "as simulated"
    else:
        users, chances = plan.chances([1])
        curve, about = list(zip(users, chances[1], strict=True)), "if the holders have no other item"
    rows = [[f"{holders:,}", bar(chance), percent(chance)] for holders, chance in curve]
    parts.append(_table(("users who hold the item", f"chance of release, {about}", ""), rows, numbers=(0, 2)))
    if outlook is not None and outlook.by_max_items:
        most = max(1.0, *outlook.by_max_items.values())
        limits = [
            [f"{limit:,}", bar(each / most), f"{each:,.0f}"] for limit, each in outlook.by_max_items.items()
        ]
        parts.append(_table(("max_items", "items to expect", ""), limits, numbers=(0, 2)))
    numbers = ", ".join(
        f"{name} {number(value)}"
        for name, value in plan.parameters.items()
        if isinstance(value, str | int | float)
    )
    told = escape(expected_in_words(plan))
    return _framed(*parts, f"<p>{told}</p>" if told else "", f'<p class="small">{escape(numbers)}</p>')


def ledger_html(ledger: Ledger) -> str:
    """The share of the cap that is spent, and every entry."""
    spent, cap = ledger.epsilon(), ledger.cap
    where = " in the period with the most" if len(by_period(ledger.entries())) > 1 else ""
    head = (
        f"<p><strong>{escape(ledger.path.name)}</strong>: epsilon {spent:.4g} of {cap.epsilon:g} spent{where}, "
        f"{ledger.left():.4g} left, at delta {cap.delta:g}</p>"
    )
    rows = [
        [
            str(entry.number),
            escape(entry.at[:10]),
            escape(entry.purpose or (entry.statement.algorithm if entry.statement else "not finished")),
            f"{entry.epsilon:g}",
            f"{entry.delta:g}",
            escape(entry.output or ""),
        ]
        for entry in ledger.entries()
    ]
    columns = ("entry", "date", "purpose", "epsilon", "delta", "output")
    return _framed(
        head, bar(min(1.0, spent / cap.epsilon), width=300), _table(columns, rows, numbers=(0, 3, 4))
    )


def comparison_html(frame: Any) -> str:
    """A table per epsilon: the mean number of items of every algorithm, with the spread of its runs."""
    limits = frame["max_items"].n_unique() > 1
    parts = []
    for part in frame.partition_by("epsilon", maintain_order=True):
        epsilon, ceiling = part.row(0, named=True)["epsilon"], part["ceiling"][0]
        most = max(1.0, ceiling)
        rows = [
            [
                escape(each["algorithm"]) + ("" if each["private"] else " (<strong>not private</strong>)"),
                *([escape(str(each["max_items"]))] if limits else []),
                bar(each["items"] / most, each["spread"] / most),
                f"{each['items']:,.0f}" + (f" ± {each['spread']:,.0f}" if each["runs"] > 1 else ""),
                f"{each['seconds']:.2f}",
            ]
            for each in part.iter_rows(named=True)
        ]
        head = ("algorithm", *(["max_items"] if limits else []), "", "items ± spread", "seconds")
        parts.append(f"<p><strong>items released, epsilon {epsilon:g}</strong></p>")
        parts.append(_table(head, rows, numbers=(*([1] if limits else []), len(head) - 2, len(head) - 1)))
        parts.append(
            f'<p class="small">A full bar is the ceiling: no private algorithm releases more than {counted(ceiling)} on '
            "average from this data.</p>"
        )
    return _framed(*parts)


def bar(share: float, half: float = 0.0, width: int = 160) -> str:
    """A bar of this share of the width, with an error bar of `half` to both sides."""
    end = width * min(max(share, 0.0), 1.0)
    low, high = max(0.0, end - width * half), min(width, end + width * half)
    error = (
        f'<path d="M{low:.1f} 7H{high:.1f}M{low:.1f} 3V11M{high:.1f} 3V11" stroke="{GREY}" stroke-width="1.5" fill="none"/>'
        if half
        else ""
    )
    return (
        f'<svg width="{width}" height="14" viewBox="0 0 {width} 14" aria-hidden="true"><rect y="2" height="10" '
        f'width="{end:.1f}" fill="{BLUE}"/>{error}</svg>'
    )


def _items(frame: Any) -> str:
    """The items; holders and sums as numbers with their errors, holders also as a bar."""
    if not frame.height:
        return "<p>No item was released.</p>"
    half_of = {name: half_name(name) for name in frame.columns if half_name(name) in frame.columns}
    names = [name for name in frame.columns if name not in half_of.values()]
    most = max(1.0, *(frame[HOLDERS] + frame[HALF])) if HOLDERS in half_of else 1.0

    def cell(entry: dict[str, Any], name: str) -> str:
        if name in half_of:
            return f"{entry[name]:,.10g} ± {entry[half_of[name]]:,.10g}"
        return escape(_short(entry[name]))

    head, rows = [escape(name) for name in names], []
    for entry in frame.iter_rows(named=True):
        rows.append([cell(entry, name) for name in names])
        if HOLDERS in half_of:
            rows[-1].append(bar(entry[HOLDERS] / most, entry[HALF] / most))
    if HOLDERS in half_of:
        head.append("holders, with the error of 95 %")
    numbers = [place for place, name in enumerate(names) if name in half_of or frame.schema[name].is_float()]
    return _table(head, rows, numbers=numbers)


def _short(value: Any) -> str:
    text = f"{value:,.6g}" if isinstance(value, float) else "" if value is None else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already."""

    def cell(tag: str, place: int, value: str) -> str:
        kind = ' class="n"' if place in numbers else ""
        return f"<{tag}{kind}>{value}</{tag}>"

    top = "".join(cell("th", place, name) for place, name in enumerate(head))
    body = "".join(
        "<tr>" + "".join(cell("td", place, value) for place, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table>{f"<thead><tr>{top}</tr></thead>" if head else ""}<tbody>{body}</tbody></table></div>'


def _folded(title: str, entries: Sequence[str]) -> str:
    told = "".join(f"<li>{escape(entry)}</li>" for entry in entries)
    return f"<details><summary>{title}</summary><ul>{told}</ul></details>" if entries else ""


def _framed(*parts: str) -> str:
    return f'{STYLE}<div class="dpsu">{"".join(parts)}</div>'
