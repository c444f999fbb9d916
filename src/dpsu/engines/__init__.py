"""Where the loops run: one contract, several engines."""
