"""The error tree of the project.

::

    InverseDeidError
    ├── InputError            what the user gave cannot be used
    │   ├── UnreadableInputError   missing, no permission, not text, wrong encoding
    │   ├── FormatError            broken XML, JSON, table; a missing column
    │   │   └── KeptColumnError        a column that is kept has a value that must not leave
    │   ├── AnnotationError        spans out of range, overlapping, of unknown type
    │   └── OutputExistsError      would overwrite a file
    ├── OutputError           the result cannot be written (no space, no permission)
    ├── ConfigurationError    settings that contradict each other or are out of range
    ├── ClusterError          the Ray cluster cannot be reached or was lost
    ├── LexiconError          the lexicon is missing, damaged or of another version
    ├── ModelError            the model folder is missing, damaged or of another version
    ├── ReviewError           a step of the review cannot be done as it was asked for
    │   ├── NotAllowedError        the user's role forbids it, or they reviewed the case
    │   ├── CaseLockedError        another user works on the case
    │   ├── StaleRevisionError     the layer changed since the user saw it
    │   └── LogInError             wrong name or password, too many tries, no session
    ├── UpdateError           what a site sent cannot be used; the others continue without it
    ├── RefusedRecordError    the masked form of one record failed its check; the others are written
    └── StageError            a stage of the pipeline broke its contract

A message says what was given, what was expected and how to fix it. It never contains
narrative text: ids, offsets, categories, counts and file names only.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path


class InverseDeidError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(InverseDeidError):
    """The input cannot be used."""


class UnreadableInputError(InputError):
    """A file is missing, unreadable, binary or in another encoding."""


class FormatError(InputError):
    """A file does not have the structure that its format asks for."""


class KeptColumnError(FormatError):
    """A column that is kept has a value that must not leave; nothing of the file is written."""


class AnnotationError(InputError):
    """Gold spans do not fit their text."""


class OutputExistsError(InputError):
    """The output exists and `--force` was not given."""


class OutputError(InverseDeidError):
    """The result cannot be written."""


class ConfigurationError(InverseDeidError):
    """Settings contradict each other or are out of range."""


class ClusterError(InverseDeidError):
    """The Ray cluster cannot be reached or was lost."""


class LexiconError(InverseDeidError):
    """The lexicon is missing, damaged or of another version."""


class ModelError(InverseDeidError):
    """The model folder is missing, damaged or of another version."""


class UpdateError(InverseDeidError):
    """The message of a site of a collaborative training cannot be used."""


class RefusedRecordError(InverseDeidError):
    """The masked form of one record failed its check and must not be written."""


class StageError(InverseDeidError):
    """A stage of the pipeline broke its contract."""


class ReviewError(InverseDeidError):
    """A step of the review cannot be done as it was asked for."""


class NotAllowedError(ReviewError):
    """The user's role forbids it, or they reviewed the case themselves."""


class CaseLockedError(ReviewError):
    """Another user works on the case."""


class StaleRevisionError(ReviewError):
    """The layer changed since the user saw it; nothing was stored."""


class LogInError(ReviewError):
    """Wrong name or password, too many tries, or no session."""


_MAX_IDS_SHOWN = 10


def describe_error(error: BaseException) -> str:
    """Return the kind of an unforeseen error and its place in the code, without its message.

    The message may quote a narrative, so it is never shown.

    Example:
        >>> describe_error(KeyError("Okonkwo"))
        'an unforeseen error (KeyError)'
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"an unforeseen error ({type(error).__name__}{place})"


def name_documents(ids: Sequence[str]) -> str:
    r"""Name documents in a message: printable, and only the first 10.

    Example:
        >>> name_documents(["a", "b\n"]), name_documents([str(i) for i in range(12)])
        ('documents a, b?', 'documents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    first = ", ".join(
        "".join(sign if sign.isprintable() else "?" for sign in doc_id) for doc_id in ids[:_MAX_IDS_SHOWN]
    )
    more = f" and {len(ids) - _MAX_IDS_SHOWN:,} more" if len(ids) > _MAX_IDS_SHOWN else ""
    return f"document{'s' if len(ids) > 1 else ''} {first}{more}"
