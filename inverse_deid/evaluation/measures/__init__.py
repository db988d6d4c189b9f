"""Counts, curves, figures and their intervals."""
