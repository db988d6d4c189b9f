"""Concept extraction from original and masked text: documents, networks, training, study."""
