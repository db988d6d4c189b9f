"""Open benchmarks: their files, a scorer that is independent of the product, and the report."""
