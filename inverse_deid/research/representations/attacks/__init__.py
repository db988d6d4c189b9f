"""Attacks on private representations, measured on documents that neither side was trained on.

Attacks give a lower bound of what can be found out: an attack that fails proves nothing.
"""
