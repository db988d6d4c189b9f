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
    │   └── LogInError             wrong name or password, no session
    │       └── TooManyTriesError      it is too early to try again
    ├── UpdateError           what a site sent cannot be used; the others continue without it
    ├── RefusedRecordError    the masked form of one record failed its check; the others are written
    └── StageError            a stage of the pipeline broke its contract

A message says what was given and what was expected. It never contains narrative text: ids, offsets,
categories, counts and file names only. It has no final stop: each surface ends what it shows.

Remedies are beside the message, by the names of choices: the command line shows them as options,
Python as keyword arguments, the service as fields, pages by their labels. A surface without the choice leaves
the remedy out.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from inverse_deid.core.wording import N_, _, ngettext


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to mend an error.

    Args:
        choice: The choice to make, in the words of Python: `text_column`. "" = nothing that the program
            offers, such as saving the file in another form.
        value: Of the choice, "" = it depends, or the choice is a switch.
        step: What to do, with `{}` in the place of the choice.
        also: Choices that are made as well.
    """

    choice: str = ""
    value: str = ""
    step: str = N_("use {}")
    also: tuple[str, ...] = ()


class InverseDeidError(Exception):
    """Base of every error that this package raises on purpose.

    Args:
        message: What is wrong.
        choice: The choice whose value is at fault; the text of the error begins with it. "" = none.
        remedies: What mends it. One is enough.

    Example:
        >>> error = InputError("is not utf-8 text", remedies=[Remedy("encoding", "cp1252")])
        >>> str(error), error.remedies[0].choice
        ('is not utf-8 text', 'encoding')
        >>> str(ConfigurationError("'x' is unknown", choice="categories"))
        "categories: 'x' is unknown"
    """

    def __init__(self, message: str = "", *, choice: str = "", remedies: Sequence[Remedy] = ()) -> None:
        # Pickle and copy call the class with the text alone, and then restore the attributes.
        message = _(message)  # of a constant that is only marked
        super().__init__(f"{choice}: {message}" if choice else message)
        self.choice = choice
        self.remedies = tuple(remedies)

    def add_prefix(self, prefix: str) -> Self:
        """Return an error of the same kind, with the same remedies, whose text begins with `prefix`.

        Example:
            >>> str(InputError("has no text").add_prefix("cases.csv: "))
            'cases.csv: has no text'
        """
        return type(self)(f"{prefix}{self}", remedies=self.remedies)


class InputError(InverseDeidError):
    """The input cannot be used."""


class UnreadableInputError(InputError):
    """A file is missing, unreadable, binary or in another encoding."""


class FormatError(InputError):
    """A file does not have the structure that its format asks for."""


class KeptColumnError(FormatError):
    """A column that is kept has a value that must not leave; nothing of the file is written.

    Args:
        column: Its name, whatever it contains: never show it without a check. "" = it is about no column.
    """

    def __init__(
        self, message: str = "", *, choice: str = "", column: str = "", remedies: Sequence[Remedy] = ()
    ) -> None:
        super().__init__(message, choice=choice, remedies=remedies)
        self.column = column

    def add_prefix(self, prefix: str) -> Self:
        return type(self)(f"{prefix}{self}", column=self.column, remedies=self.remedies)


class AnnotationError(InputError):
    """Gold spans do not fit their text."""


class OutputExistsError(InputError):
    """The output exists, and it was not said that it may be overwritten."""


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
    """Wrong name or password, or no session."""


class TooManyTriesError(LogInError):
    """Too many wrong passwords or codes; the next try must wait some seconds."""

    wait_seconds = 0


OVERWRITE = Remedy("force", step=N_("use {} to overwrite it"))
START_AGAIN = Remedy("force", step=N_("start again with {}"))
"""What mends an output that exists, and an interrupted run that cannot be resumed."""

NameChoice = Callable[[str, str], str | None]
"""Names a choice and its value ("" = none) on a surface, None = the surface does not offer it."""


def add_remedies(message: str, remedies: Sequence[Remedy], name_choice: NameChoice) -> str:
    """Return a message and, as another sentence, the remedies that a surface offers; no final stop.

    Example:
        >>> found = [Remedy("force", step="add {} to start again"), Remedy(step="choose another folder")]
        >>> add_remedies("a.csv exists", found, lambda choice, _: f"--{choice}")
        'a.csv exists. Add --force to start again, or choose another folder'
        >>> add_remedies("a.csv exists", found[:1], lambda choice, _: None)
        'a.csv exists'
    """
    message = _(message)
    steps = [step for one in remedies if (step := _describe_step(one, name_choice))]
    if not steps:
        return message
    sentence = steps[0]
    if len(steps) > 1:
        sentence = _("{steps}, or {last}", steps=", ".join(steps[:-1]), last=steps[-1])
    return f"{message.removesuffix('.')}. {sentence[0].upper()}{sentence[1:]}"


def _describe_step(remedy: Remedy, name_choice: NameChoice) -> str:
    step = _(remedy.step)
    if not remedy.choice:
        return step
    named = [name_choice(remedy.choice, remedy.value), *(name_choice(one, "") for one in remedy.also)]
    found = [one for one in named if one]
    return step.format(_(" and ").join(found)) if len(found) == len(named) else ""


_MAX_IDS_SHOWN = 10


def describe_error(error: BaseException) -> str:
    """Return the kind of an unforeseen error and its place in the code, without its message.

    The message may quote a narrative, so it is never shown.

    Example:
        >>> describe_error(KeyError("Okonkwo"))
        'an unforeseen error (KeyError)'
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = (
        _(" at {name}:{lineno}", name=Path(frames[-1].filename).name, lineno=frames[-1].lineno)
        if frames
        else ""
    )
    return _("an unforeseen error ({name}{place})", name=type(error).__name__, place=place)


def name_documents(ids: Sequence[str]) -> str:
    r"""Name documents in a message: printable, and only the first 10.

    Example:
        >>> name_documents(["a", "b\n"]), name_documents([str(i) for i in range(12)])
        ('documents a, b?', 'documents 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    first = ", ".join(
        "".join(sign if sign.isprintable() else "?" for sign in doc_id) for doc_id in ids[:_MAX_IDS_SHOWN]
    )
    more = _(" and {n_ids:,} more", n_ids=len(ids) - _MAX_IDS_SHOWN) if len(ids) > _MAX_IDS_SHOWN else ""
    return ngettext("document {first}{more}", "documents {first}{more}", len(ids), first=first, more=more)
