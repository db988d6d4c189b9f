"""What a user can choose about masking: one table, from which every surface derives what it offers."""
