"""What is to be done: input and output files, checks, the journal of a run."""
