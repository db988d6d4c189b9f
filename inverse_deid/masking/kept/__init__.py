"""What is kept beside the text: columns, fields and their forms."""
