"""The keyed stream, digests and exact noise."""
