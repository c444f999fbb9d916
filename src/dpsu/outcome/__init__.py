"""What leaves: releases, statements, the ledger, files."""
