"""Engines: one contract, several implementations."""
