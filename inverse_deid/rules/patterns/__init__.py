"""Patterns of identifiers and of clinical facts, a module per subject."""
