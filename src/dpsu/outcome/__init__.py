"""The results of a run: releases, statements, the ledger, files."""
