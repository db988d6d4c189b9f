"""The way of a case: reading, editing, approval, oversight."""
