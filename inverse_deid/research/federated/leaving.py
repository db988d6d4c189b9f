"""What leaves a site, in words for a data-protection officer: announced by a dry run, then logged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import OutputError
from inverse_deid.research.federated.messages import Envelope

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def description(envelope: Envelope) -> str:
    """How many numbers a message holds, of which size; nothing else is in it.

    Example:
        >>> arrays = {"weights": np.array([3, -4], np.float32)}
        >>> description(Envelope({"kind": "reply", "number": 2, "n_tokens": 80}, arrays))
        'reply for round 2; says: n_tokens 80; weights: 2 numbers, norm 5, largest 4'
    """
    header = dict(envelope.header)
    kind, number = header.pop("kind", "message"), header.pop("number", None)
    said = ", ".join(f"{name} {value}" for name, value in sorted(header.items()))
    parts = [f"{kind} for round {number}" if number is not None else str(kind), f"says: {said or 'nothing'}"]
    return "; ".join([*parts, *(_of_array(name, array) for name, array in envelope.arrays.items())])


def _of_array(name: str, array: np.ndarray) -> str:
    if not array.size or name == "indices":
        return f"{name}: {array.size} numbers"
    values = array.astype(np.float64)
    return (
        f"{name}: {array.size} numbers, norm {np.linalg.norm(values):.4g}, largest {np.abs(values).max():.4g}"
    )


class LeavingLog:
    """A text file with one line for each message that leaves a site; it is only ever added to.

    Args:
        path: Of the file.
        clock: Tells the time.
    """

    def __init__(self, path: Path, clock: Clock = now) -> None:
        self._path, self._clock = path, clock

    def write(self, envelope: Envelope, data: bytes, to: str) -> None:
        """Note a message before it leaves: what cannot be noted must not leave.

        Args:
            envelope: The message.
            data: Its bytes.
            to: Where it goes.

        Raises:
            OutputError: The line cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        when = self._clock().isoformat(timespec="seconds")
        line = f"{when} to {to}: {description(envelope)}; {len(data)} bytes, sha256 {digest}\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise OutputError(
                f"{self._path}: cannot be written ({error.strerror}); nothing was sent"
            ) from error
