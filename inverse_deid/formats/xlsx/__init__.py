"""Excel files (.xlsx): read row by row. The masked file is a new one."""
