"""Rules look at one token (cities: at contiguous tokens) and never decide alone."""
