"""Excel files (.xlsx): read row by row, and written anew with masked texts and kept values."""
