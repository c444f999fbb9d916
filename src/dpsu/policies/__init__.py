"""Policies of the caller's own: a search for what breaks them."""
