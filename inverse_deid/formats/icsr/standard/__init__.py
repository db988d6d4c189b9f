"""What the standards say: elements, vocabularies, profiles, dates and ages."""
