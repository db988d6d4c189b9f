"""Files that are read or written beside the masked ones."""
