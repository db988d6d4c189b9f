"""Invented annotated notes in which every name is in a place that can be learned."""

from __future__ import annotations

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan

NAMES = ("Okonkwo", "Lindero", "Zorath", "Velmo", "Quillan", "Brask", "Tamsin", "Ostrova")


def note(number: int) -> Document:
    """`Mr. NAME of the ward had a rash on 3/4/2021.` with other names and days."""
    name, day = NAMES[number % len(NAMES)], f"{number % 9 + 1}/4/2021"
    text = f"Mr. {name} of the ward had a mild rash on {day} and took aspirin."
    places = [(name, PhiType.PATIENT), (day, PhiType.DATE)]
    spans = [PhiSpan(text.index(part), text.index(part) + len(part), kind) for part, kind in places]
    return Document(f"note-{number}", text, tuple(spans))


def notes(n_documents: int, first: int = 0) -> list[Document]:
    return [note(first + number) for number in range(n_documents)]


def covered(doc: Document, masks: list[tuple[int, int]]) -> set[str]:
    """What the masks cover, as text."""
    return {doc.text[start:end] for start, end in masks}
