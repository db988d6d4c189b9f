"""Attacks on private representations, measured on documents that neither side was trained on.

What they find out is a lower bound of what can be found out: no attack that fails is a proof.
"""
