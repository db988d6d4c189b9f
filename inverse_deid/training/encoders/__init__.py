"""Training of the second reader."""
