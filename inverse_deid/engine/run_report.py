"""The report of a run for the data-protection officer: elements, paths, counts, hashes, no values.

An attacker with a masked text can put every name of a list into its gaps and hash the result: the SHA-256 of
an original would tell which name is right. So originals and secret words have a hash only under the key of
the run (HMAC), and none without a key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.files import sha256_of, write_whole
from inverse_deid.core.values import Reason
from inverse_deid.engine.jobs.journal import Entry
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import Failure
from inverse_deid.formats.beside.known_values import KnownOfDocuments
from inverse_deid.formats.icsr.standard.profiles import Profile
from inverse_deid.formats.tables.columns import ColumnFate

FORMAT = "inverse-deid run report"
REPORT_MARK = f'"format": "{FORMAT}"'
"""Part of the beginning of every run report."""
VERSION = 2

_PURPOSE = b"inverse-deid run report 2 "


def hash_with_key(key: bytes | None, sha256: str) -> str | None:
    """Return an HMAC-SHA256 of a hash that only holders of the key can compare, None = no key.

    Example:
        >>> hash_with_key(None, "00") is None, len(hash_with_key(b"sixteen bytes or", "00") or "")
        (True, 64)
    """
    return None if key is None else hmac.digest(key, _PURPOSE + sha256.encode(), "sha256").hex()


def hash_known(known: KnownOfDocuments) -> str:
    """Return a hash that tells one set of known identifiers from another."""
    listed = [
        (doc_id, [(value.value, str(value.sort)) for value in known[doc_id]]) for doc_id in sorted(known)
    ]
    return hashlib.sha256(repr(listed).encode("utf-8", "surrogatepass")).hexdigest()


def hash_words(words: Iterable[str]) -> str:
    """Return a hash that tells one list of words from another, whatever its order."""
    return hashlib.sha256("\n".join(sorted(words)).encode("utf-8", "surrogatepass")).hexdigest()


class RunReport:
    """Collects what was done to each file.

    Args:
        settings: Everything that shapes the output, without a secret and without a value.
        key: Of the hashes of originals, None = they are left out.
        names: The new name of each input that is shown instead of its own, None = names are shown.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        key: bytes | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = dict(settings)
        self._key = key
        self._names = names
        self._files: list[dict[str, Any]] = []

    def add(self, job: Job, entry: Entry) -> None:
        """Note a file that is complete."""
        private = {output.role for output in job.outputs if output.private}
        outputs = {
            role: {"hmac_sha256": hash_with_key(self._key, state.sha256), "bytes": state.n_bytes}
            if role in private
            else {"sha256": state.sha256, "bytes": state.n_bytes}
            for role, state in entry.files.items()
        }
        self._files.append(
            {
                "input": job.shown if self._names is None else job.name,
                "output": job.name,
                "format": job.format.name,
                "input_hmac_sha256": hash_with_key(self._key, sha256_of(job.input)),
                "outputs": outputs,
                **_describe_counts(self._hide_names(entry.tally)),
                "case_reports": entry.report,
            }
        )

    def _hide_names(self, tally: Tally) -> Tally:
        """Return the same counts; failures and warnings show the new names of files."""
        names = self._names
        if names is None:
            return tally

        def rename(where: str) -> str:
            ends = (end for end, sign in enumerate(f"{where} ") if sign == " " and where[:end] in names)
            end = max(ends, default=0)
            return names[where[:end]] + where[end:] if end else ""

        unknown = Failure("an input", "was not masked. The messages of the run say why")
        failures = [
            one._replace(where=new) if (new := rename(one.where)) else unknown for one in tally.failures
        ]
        warnings = [one._replace(where=rename(one.where) or "an input") for one in tally.warnings]
        return replace(tally, failures=failures, warnings=warnings)

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
            "total": _describe_counts(self._hide_names(tally)),
            "files": self._files,
        }
        text = json.dumps(content, indent=1, ensure_ascii=False)
        write_whole(path, [text.encode("utf-8", "replace"), b"\n"], private=True)


def describe_profile(profile: Profile) -> dict[str, Any]:
    """Return what a profile does to each element."""
    actions = {element: str(action) for element, action in sorted(profile.actions.items())}
    return {
        "name": profile.name,
        "attachments": str(profile.attachments),
        "display_names": str(profile.display_names),
        "other_dates": str(profile.other_dates),
        "unknown": profile.unknown,
        "elements": actions,
        "sha256": hashlib.sha256(repr(sorted(actions.items())).encode()).hexdigest(),
    }


def _describe_failure(failure: Failure) -> dict[str, Any]:
    """Return where what went wrong, and the choices that mend it."""
    choices = [{one.choice: one.value or None} for one in failure.remedies if one.choice]
    more = {"remedies": choices} if choices else {}
    return {"where": failure.where, "reason": failure.reason, **more}


def _describe_counts(tally: Tally) -> dict[str, Any]:
    by_reason = zip(Reason, tally.tokens_by_reason, strict=True)
    return {
        "n_documents": tally.n_documents,
        "n_failed_documents": tally.n_failed_documents,
        "n_not_english": tally.n_other_language,
        "not_english": list(tally.other_language),
        "n_tokens": tally.n_tokens,
        "tokens_by_reason": {reason.name: n for reason, n in by_reason if n},
        "replaced_by_words": dict(sorted(tally.stand_ins.items())),
        "columns": {
            str(fate): sorted(name for name, one in tally.columns.items() if one == fate)
            for fate in ColumnFate
        },
        "read_as": dict(sorted(tally.read_as.items())),
        "removed_parts": dict(sorted(tally.removed.items())),
        "warnings": [{"where": warning.where, "reason": warning.reason} for warning in tally.warnings],
        "n_failures": tally.n_failures,
        "failures": [_describe_failure(failure) for failure in tally.failures],
    }
