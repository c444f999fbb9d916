"""`python -m dpsu` is the command `dpsu`."""

from dpsu.cli.app import main

main()
