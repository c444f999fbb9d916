"""Custom policies: a search for counterexamples."""
