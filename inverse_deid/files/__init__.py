"""A file that somebody gave us: surveyed, read, written again, and the facts that every surface shows."""
