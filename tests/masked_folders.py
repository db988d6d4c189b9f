"""What tests of the command put into folders and look for there."""

from pathlib import Path

from fake_maskers import CANARY

NOTE = f"Seen: {CANARY} was well"
MASKED = "PHI: PHI was well"


def visible(folder: Path) -> list[str]:
    """All files but the journal, in which a complete run leaves one hash."""
    found = (p for p in folder.rglob("*") if p.is_file() and p.name != ".inverse-deid.journal")
    return sorted(str(p.relative_to(folder)) for p in found)
