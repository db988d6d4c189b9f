"""Attempts to learn about documents from weights and their changes, measured whether or not they succeed."""
