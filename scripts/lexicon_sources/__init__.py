"""Readers of the pinned packages from which the large lists are derived."""
