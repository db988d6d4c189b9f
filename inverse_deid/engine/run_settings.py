"""How a run is done, and the one hash of all that shapes its output."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from inverse_deid.engine.serial import OnProgress
from inverse_deid.formats.records import ReadOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How jobs are run.

    Args:
        fingerprint: Of all that shapes the output, see `settings_fingerprint`.
        read_options: How input files are read.
        force: Overwrite outputs that exist.
        resume: Go on where an interrupted run was safe.
        on_progress: Told of every batch.
    """

    fingerprint: str
    read_options: ReadOptions = field(default_factory=ReadOptions)
    force: bool = False
    resume: bool = False
    on_progress: OnProgress = field(default=lambda _documents, _tokens: None)


def settings_fingerprint(*parts: object) -> str:
    """One hash of all that shapes the output; each part must have a telling `repr`.

    Example:
        >>> settings_fingerprint("model", ReadOptions()) == settings_fingerprint("model", ReadOptions())
        True
    """
    return hashlib.sha256(json.dumps([repr(part) for part in parts]).encode()).hexdigest()
