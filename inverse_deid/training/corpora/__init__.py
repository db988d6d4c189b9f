"""Synthetic annotated corpora: fresh surrogates, injection into real text, invented documents."""
