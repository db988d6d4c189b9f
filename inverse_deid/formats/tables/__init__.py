"""Tables and records: CSV, JSON, JSON Lines, Parquet."""
