"""What is known of a file that somebody gave us, and the sentences in which every surface says it.

The command line, the desk, the review, the service and the reports of a run show these facts and no others.
A new fact is a field of `FileFacts` and a sentence in `list_facts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from inverse_deid.core.errors import Remedy
from inverse_deid.core.files import printable
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.formats.tables.columns import ColumnFate

_FATES = {
    N_("masked"): (ColumnFate.MASKED,),
    N_("kept (unmasked)"): (ColumnFate.KEPT, ColumnFate.ID),
    N_("kept without a check"): (ColumnFate.UNCHECKED,),
    N_("dropped"): (ColumnFate.DROPPED,),
}

MAX_FAILURES = 1000
"""So many failures and warnings are listed."""

Describe = Callable[[str, Sequence[Remedy]], str]
"""Returns a fault with what mends it, in the words of a surface."""


class Failure(NamedTuple):
    """A file or record that was not masked as it should have been."""

    where: str
    reason: str
    remedies: tuple[Remedy, ...] = ()


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a file, or of several together.

    Args:
        n_documents: Masked or to be masked; of a table, its rows with text.
        read_as: Files by the encoding and separator that were found.
        columns: The `ColumnFate` of each column of a table.
        removed: Parts that are left out, by kind.
        n_other_language: Documents that seem not to be English.
        other_language: The ids of the first of them.
        n_failures: Files and records that were refused, and documents that were masked completely.
        failures: The first of them.
        warnings: What is masked, but not as the user may expect.
    """

    n_documents: int = 0
    read_as: Mapping[str, int] = {}
    columns: Mapping[str, str] = {}
    removed: Mapping[str, int] = {}
    n_other_language: int = 0
    other_language: tuple[str, ...] = ()
    n_failures: int = 0
    failures: tuple[Failure, ...] = ()
    warnings: tuple[Failure, ...] = ()

    def __repr__(self) -> str:
        return f"FileFacts(n_documents={self.n_documents}, n_failures={self.n_failures})"

    def as_numbers(self) -> dict[str, Any]:
        """Return the counts alone: no name of a column or file, no id, no reason of a failure or warning.

        Example:
            >>> FileFacts(columns={"text": "masked", "dob": "dropped"}).as_numbers()["columns"]
            {'dropped': 1, 'masked': 1}
        """
        return {
            "n_documents": self.n_documents,
            "read_as": dict(sorted(self.read_as.items())),
            "columns": dict(sorted(Counter(map(str, self.columns.values())).items())),
            "removed": dict(sorted(self.removed.items())),
            "n_other_language": self.n_other_language,
            "n_failures": self.n_failures,
            "n_warnings": len(self.warnings),
        }


class Fact(msgspec.Struct, frozen=True):
    """One fact as a sentence.

    Args:
        field: The field of `FileFacts` that says it.
        text: Without a full stop.
        is_warning: The user must know it before they release anything.
    """

    field: str
    text: str
    is_warning: bool = False

    def __repr__(self) -> str:
        return f"Fact(field={self.field!r})"


def list_facts(facts: FileFacts, describe: Describe | None = None) -> list[Fact]:
    """Return all facts but the number of documents as sentences, single records last.

    Args:
        facts: Of a file, or of several.
        describe: Says how the surface mends a fault, None = remedies are left out.

    Example:
        >>> facts = FileFacts(removed={"image": 12, "macro": 1}, read_as={"windows-1252": 1})
        >>> [fact.text for fact in list_facts(facts)]
        ['Removed parts of files: image (12), macro (1)', 'Read as: windows-1252 (1 file)']
    """
    say = describe or (lambda reason, _remedies: _(reason))
    return [
        *_describe_language(facts),
        *_describe_columns(facts.columns),
        *_describe_parts(facts),
        *(Fact("warnings", f"{where}: {say(reason, how)}", True) for where, reason, how in facts.warnings),
        *(Fact("failures", f"{where}: {say(reason, how)}", True) for where, reason, how in facts.failures),
    ]


def list_columns(columns: Mapping[str, str], *fates: ColumnFate) -> list[str]:
    """Return the printable names of the columns with one of the fates, sorted; an id is marked."""
    found = [
        (printable(name) or _("(no name)")) + (_(" (the id)") if one == ColumnFate.ID else "")
        for name, one in columns.items()
        if one in fates
    ]
    return sorted(found)


def _describe_language(facts: FileFacts) -> Iterator[Fact]:
    if n := facts.n_other_language:
        yield Fact(
            "n_other_language",
            ngettext(
                "{n:,} of {n_documents:,} documents seems not to be English. There, much more is masked, "
                "facts may be lost, and identifiers may leak",
                "{n:,} of {n_documents:,} documents seem not to be English. There, much more is masked, "
                "facts may be lost, and identifiers may leak",
                n,
                n=n,
                n_documents=facts.n_documents,
            ),
            is_warning=True,
        )


def _describe_columns(columns: Mapping[str, str]) -> Iterator[Fact]:
    for said, fates in _FATES.items():
        if names := list_columns(columns, *fates):
            yield Fact("columns", _("Columns {said}: {names}", said=_(said), names=", ".join(names)))


def _describe_parts(facts: FileFacts) -> Iterator[Fact]:
    if facts.removed:
        kinds = ", ".join(f"{_(kind)} ({n:,})" for kind, n in sorted(facts.removed.items()))
        yield Fact("removed", _("Removed parts of files: {kinds}", kinds=kinds))
    if facts.read_as:
        files = (
            ngettext("{how} ({n:,} file)", "{how} ({n:,} files)", n, how=how, n=n)
            for how, n in sorted(facts.read_as.items())
        )
        yield Fact("read_as", _("Read as: {files}", files="; ".join(files)))
