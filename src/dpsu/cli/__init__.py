"""The command `dpsu`: one file per command."""


def main() -> None:
    """Run the command."""
    from dpsu.cli.app import main as run

    run()
