"""Accounts, attempts and the second factor."""
