"""The line for an error that nobody foresaw. Its own message may quote a narrative and is never shown."""

from __future__ import annotations

import traceback
from pathlib import Path


def describe_error(error: BaseException) -> str:
    """Return the kind of an error and the place in the code, without its message.

    Example:
        >>> describe_error(KeyError("Okonkwo"))
        'an unforeseen error (KeyError)'
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"an unforeseen error ({type(error).__name__}{place})"
