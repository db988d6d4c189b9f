"""The choices of a user about masking: one table, from which every surface derives its own."""
