"""A privacy engineer: one budget for several releases, checked, reported and registered.

    python examples/privacy_engineer.py

The data is synthetic. Files go to a temporary folder.
"""

import tempfile
from pathlib import Path

import dpsu
from dpsu.errors import LedgerError

folder = Path(tempfile.mkdtemp())
queries = {f"user {n}": [f"query {(n * k) % 97}" for k in range(1, 6)] for n in range(8000)}

# One ledger for all releases over these users. It refuses what would pass its cap. Releases of focused-gaussian compose as
# Gaussian DP; the default, auto, counts with its whole epsilon.
ledger = dpsu.Ledger.create(folder / "spent.db", epsilon=2, delta=1e-6)
for week in (1, 2):
    release = dpsu.release(
        queries,
        epsilon=1,
        delta=1e-7,
        max_items=5,
        algorithm="focused-gaussian",
        ledger=ledger,
        title=f"Queries of week {week}",
    )
    release.save(folder / f"week-{week}.csv")
ledger.record_spending(0.2, 0.0, purpose="a mean, with another tool")
print(f"spent epsilon {ledger.epsilon():.3f} of {ledger.cap.epsilon:g}")
try:
    dpsu.release(queries, epsilon=2, delta=1e-7, ledger=ledger)
except LedgerError as refused:
    print("refused:", refused)

# What a reviewer gets: the statement, which verifies without the data, and the report.
statement = release.statement
assert statement is not None
statement.save(folder / "promise.json")
found = dpsu.verify(folder / "promise.json", released=folder / "week-2.csv")
print("verified:", found.ok, "the same file:", found.file)
assert found.ok
assert found.file
release.report(folder / "report.html")

# What the public gets: an entry of the registry of deployments.
entry = statement.to_registry()
print(f"for the registry; the curator fills {entry.count('# CURATOR')} fields, the statement the others:")
print(entry[entry.index("  privacy_loss:") : entry.index("    privacy_unit_details:")].rstrip())
print(entry[entry.index("    privacy_parameters:") : entry.index("    privacy_parameters_details:")].rstrip())
(folder / "deployment.yaml").write_text(entry, encoding="utf-8")

# What other accountants get.
try:
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
except ImportError:
    print("dp-accounting is not installed; with it, this release composes with the events of other tools")
else:
    event, delta = statement.to_dp_event()
    twice = PLDAccountant().compose(event, 2).get_epsilon(1e-6 - 2 * delta)
    print(f"both weeks, by dp_accounting: epsilon {twice:.3f}")
    assert twice < ledger.epsilon()
