"""A small HTTP interface: documents in, masked documents out; nothing is kept and no text is logged."""
