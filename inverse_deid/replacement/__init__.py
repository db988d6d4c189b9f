"""What stands in the place of masked text."""
