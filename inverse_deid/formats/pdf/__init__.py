"""PDF files (.pdf): their text layer and form fields, written into a new PDF."""
