"""What weights and their changes tell: attempts that are measured, whether they succeed or fail."""
