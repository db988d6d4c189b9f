"""What tests of the command put into folders and look for there."""

from pathlib import Path

from fake_maskers import CANARY

NOTE = f"Seen: {CANARY} was well"
MASKED = "PHI: PHI was well"


def visible(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
