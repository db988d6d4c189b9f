"""What a run did, for the file of the data-protection officer: elements, paths, counts, hashes, no values.

Whoever holds a masked text can put every name of a list into its gaps and hash the result: the SHA-256 of an
original would say which name is right. What is made of originals or of secret words therefore has a hash only
under the key of the run (HMAC), and none without a key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.files import PartialFile, sha256_of
from inverse_deid.core.values import Reason
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.journal import Entry
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.columns import ColumnFate
from inverse_deid.formats.icsr.profiles import Profile

FORMAT = "inverse-deid run report"
VERSION = 2

_PURPOSE = b"inverse-deid run report 2 "


def keyed_hash(key: bytes | None, sha256: str) -> str | None:
    """Return what tells one value from another to whoever has the key, None without a key.

    Args:
        key: Secret bytes.
        sha256: Of the value, in hexadecimal digits.

    Returns:
        HMAC-SHA256 in hexadecimal digits.

    Example:
        >>> keyed_hash(None, "00") is None, len(keyed_hash(b"sixteen bytes or", "00") or "")
        (True, 64)
    """
    return None if key is None else hmac.digest(key, _PURPOSE + sha256.encode(), "sha256").hex()


class RunReport:
    """Gathers what was done to each file.

    Args:
        settings: Everything that shapes the output, without a secret and without a value.
        key: Of the hashes of originals, None = they are left out.
    """

    def __init__(self, settings: Mapping[str, Any], key: bytes | None = None) -> None:
        self._settings = dict(settings)
        self._key = key
        self._files: list[dict[str, Any]] = []

    def add(self, job: Job, entry: Entry) -> None:
        """Note a file that is complete."""
        private = {output.role for output in job.outputs if output.private}
        outputs = {
            role: {"hmac_sha256": keyed_hash(self._key, state.sha256), "bytes": state.n_bytes}
            if role in private
            else {"sha256": state.sha256, "bytes": state.n_bytes}
            for role, state in entry.files.items()
        }
        self._files.append(
            {
                "input": job.shown,
                "output": job.name,
                "format": job.format.name,
                "input_hmac_sha256": keyed_hash(self._key, sha256_of(job.input)),
                "outputs": outputs,
                **_counts(entry.tally),
                "case_reports": entry.report,
            }
        )

    def write(self, path: Path, tally: Tally) -> None:
        """Write the report, readable by its owner alone; a file of that name is overwritten.

        Raises:
            OutputError: It cannot be written.
        """
        content = {
            "format": FORMAT,
            "version": VERSION,
            "tool": f"inverse-deid {__version__}",
            "settings": self._settings,
            "total": _counts(tally),
            "files": self._files,
        }
        file = PartialFile(path, private=True)
        try:
            file.write(json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            file.sync()
        except BaseException:
            file.discard()
            raise
        file.commit()


def profile_json(profile: Profile) -> dict[str, Any]:
    """A profile: what happens to each element."""
    actions = {element: str(action) for element, action in sorted(profile.actions.items())}
    return {
        "name": profile.name,
        "attachments": str(profile.attachments),
        "display_names": str(profile.display_names),
        "other_dates": str(profile.other_dates),
        "elements": actions,
        "sha256": hashlib.sha256(repr(sorted(actions.items())).encode()).hexdigest(),
    }


def _counts(tally: Tally) -> dict[str, Any]:
    by_reason = zip(Reason, tally.tokens_by_reason, strict=True)
    return {
        "n_documents": tally.n_documents,
        "n_failed_documents": tally.n_failed_documents,
        "n_tokens": tally.n_tokens,
        "tokens_by_reason": {reason.name: n for reason, n in by_reason if n},
        "replaced_by_words": dict(sorted(tally.stand_ins.items())),
        "columns": {
            str(fate): sorted(name for name, one in tally.columns.items() if one == fate)
            for fate in ColumnFate
        },
        "n_failures": tally.n_failures,
        "failures": [{"where": failure.where, "reason": failure.reason} for failure in tally.failures],
    }
