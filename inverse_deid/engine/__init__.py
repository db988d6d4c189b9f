"""Many documents: files in batches, masked files out, and records of interrupted runs."""
