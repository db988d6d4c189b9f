"""The commands `review`."""
