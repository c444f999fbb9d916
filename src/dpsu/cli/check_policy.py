"""`dpsu check-policy`: a search for data that breaks a policy."""

from typing import Annotated

import typer

from dpsu.cli.terminal import tell


def check_policy(
    policy: Annotated[str, typer.Argument(help="module:name of a dpsu.Policy.")],
    seconds: Annotated[float, typer.Option(help="How long to search.")] = 20.0,
) -> None:
    """Search for data that breaks a policy. Exits with 1 if its sensitivity or symmetry is violated."""
    from dpsu.policies.check import check_policy as search
    from dpsu.policies.check import load

    found = search(load(policy), seconds=seconds)
    tell(found)
    raise typer.Exit(0 if found.ok else 1)
