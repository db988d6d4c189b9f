"""The values that travel through the pipeline, the PHI categories and the error tree."""
