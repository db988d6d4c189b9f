"""The systems that the masker is compared with."""
