"""`dpsu algorithms`: the catalogue."""

import json

import dpsu
from dpsu.cli.options import AsJson


def algorithms(as_json: AsJson = False) -> None:
    """List the algorithms. For each: family, whether it is private, what it does."""
    from rich.console import Console

    from dpsu.report.text import catalogue_table

    frame = dpsu.list_algorithms()
    if as_json:
        print(json.dumps(frame.to_dicts(), indent=2, ensure_ascii=False))
    else:
        Console().print(catalogue_table(frame))
