"""Surrogates: invented values that agree within a case."""
