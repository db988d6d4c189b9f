"""Word files (.docx): opened, reduced to what is understood, masked in place and built again."""
