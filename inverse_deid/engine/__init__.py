"""Mapping many documents: batches in, masked files out, and what was done before an interruption."""
