"""What all pages share: their style sheet and scripts, and the texts of their templates."""
