"""The command `mask`."""
