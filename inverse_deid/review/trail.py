"""The trail: who changed which token of which case from what to what, and when; never a word of text.

Every entry holds the SHA-256 of the one before it, so that none can be changed, taken out or moved. The
last hash and the number of entries are sealed with the key of the store (HMAC), so that none can be cut
off at the end either. Who has the key can forge a trail; export it regularly to a place of its own.

A line of the export is the entry as canonical JSON; the last line is the sealed head.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inverse_deid.review.keys import ReviewKey
from inverse_deid.review.store import ReviewStore


@dataclass(frozen=True, slots=True)
class TrailCheck:
    """What a verification found.

    Args:
        n_entries: Entries that are there.
        problems: One sentence each, naming the entry by its number; empty = all is well.
    """

    n_entries: int
    problems: tuple[str, ...]

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify_store(store: ReviewStore) -> TrailCheck:
    """Check the trail of a store from its first entry to its sealed head."""
    raise NotImplementedError


def verify_export(path: Path, key: ReviewKey | None) -> TrailCheck:
    """Check an exported trail; without the key, all but the seal of its end.

    Raises:
        UnreadableInputError: The file cannot be read.
    """
    raise NotImplementedError


def export_trail(store: ReviewStore, path: Path, *, force: bool = False) -> int:
    """Write the trail as JSON Lines; how many entries it has.

    Raises:
        OutputExistsError: The file is there.
        OutputError: It cannot be written.
    """
    raise NotImplementedError
