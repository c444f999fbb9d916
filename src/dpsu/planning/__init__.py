"""Plans for data of a known shape: synthetic sets, and simulated releases."""
