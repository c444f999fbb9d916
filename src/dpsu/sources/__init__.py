"""Where the data comes from."""

from dpsu.sources.source import Source

__all__ = ["Source"]
