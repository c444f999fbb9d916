"""User sets as arrays: strings, keys, a hash table, rows."""
