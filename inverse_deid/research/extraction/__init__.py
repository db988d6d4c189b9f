"""Concept extraction on original and masked text: data, networks, training."""
