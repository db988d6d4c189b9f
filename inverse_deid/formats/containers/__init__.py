"""Files that contain files (e-mails and archives): each part is read and masked by its own format."""
