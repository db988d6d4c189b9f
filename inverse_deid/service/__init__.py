"""A small HTTP interface: documents in, masked documents out. Nothing is kept, no text is logged."""
