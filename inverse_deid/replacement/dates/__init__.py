"""Dates: how they are written, read within a case and replaced."""
