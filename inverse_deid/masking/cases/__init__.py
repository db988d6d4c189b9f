"""One case at a time: all its texts masked together, and what stands in the place of dates, ages and ids."""
