"""The sealed store: rows, trail, keys, backup."""
