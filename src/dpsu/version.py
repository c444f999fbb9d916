"""The version, in one place for the package and for statements."""

from importlib.metadata import version

__version__ = version("dpsu")
