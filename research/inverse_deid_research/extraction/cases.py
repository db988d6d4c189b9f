"""Cases whose identifiers and concepts were marked in two corpora.

A case is one document where the text with concepts stands whole in that with identifiers: it then has both
kinds of gold. Otherwise it is one document per corpus, with the gold of that corpus alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.training.corpus import without_near_duplicates
from inverse_deid_research.extraction.concepts import (
    CONCEPTS,
    PHI,
    ConceptDocument,
    ConceptSpan,
    drop_overlaps,
)


@dataclass(frozen=True, slots=True)
class Case:
    """A case by its id, with the document in which concepts are marked."""

    id: str
    # With both kinds of gold if `identified` is this document.
    read: ConceptDocument = field(repr=False)
    # The document with marked identifiers, None if there is none.
    identified: ConceptDocument | None = field(default=None, repr=False)

    @property
    def docs(self) -> tuple[ConceptDocument, ...]:
        """All documents of the case, each once."""
        if self.identified is None or self.has_both:
            return (self.read,)
        return (self.read, self.identified)

    @property
    def has_both(self) -> bool:
        """Whether one text has both kinds of gold."""
        return self.read is self.identified


def locate_text(text: str, within: str) -> list[int] | None:
    r"""Return where each character of a text is in another one; white space may differ.

    Returns:
        An offset of `within` per code point of `text`, for white space that of the next other character.
        None if the text is not there as a whole, or at several places.

    Example:
        >>> locate_text("a  b", "NAME: X. a\nb")
        [9, 11, 11, 11]
    """
    places = [i for i, character in enumerate(within) if not character.isspace()]
    sought = "".join(text.split())
    whole = "".join(within.split())
    first = whole.find(sought)
    if not sought or first < 0 or whole.find(sought, first + 1) >= 0:
        return None
    found, number = [], first
    for character in text:
        found.append(places[min(number, first + len(sought) - 1)])
        number += not character.isspace()
    return found


def join_gold(concepts: ConceptDocument, identified: Document) -> ConceptDocument | None:
    """Return the document with identifiers and the concepts of another version, or None if they differ.

    The text with identifiers must contain the text with concepts, apart from white space.
    """
    places = locate_text(concepts.doc.text, identified.text)
    if places is None:
        return None
    moved = (ConceptSpan(places[one.start], places[one.end - 1] + 1, one.type) for one in concepts.concepts)
    return ConceptDocument(identified, tuple(sorted(moved)))


def join_cases(
    identified: Sequence[Document], concepts: Mapping[str, Sequence[ConceptDocument]], types: Collection[str]
) -> dict[str, list[Case]]:
    """Join the documents of two corpora by id, in the parts of the one with concepts.

    Concepts of these types are kept, without overlaps.

    Raises:
        ConfigurationError: A corpus has an id twice, or a case with identifiers is in no part.
    """
    with_identifiers = {doc.id: doc for doc in identified}
    ids = Counter(doc.id for docs in concepts.values() for doc in docs)
    for counts in (ids, Counter(doc.id for doc in identified)):
        if repeated := sum(count > 1 for count in counts.values()):
            raise ConfigurationError(
                f"{repeated} ids are of several documents of one corpus. Give each case once, in one part"
            )
    if strange := len(with_identifiers.keys() - ids.keys()):
        raise ConfigurationError(
            f"{strange} cases with identifiers are in no part of the corpus with concepts. "
            "Give all of its parts"
        )
    return {
        part: [_join_case(doc, with_identifiers.get(doc.id), types) for doc in docs]
        for part, docs in concepts.items()
    }


def _join_case(doc: ConceptDocument, identified: Document | None, types: Collection[str]) -> Case:
    alone = ConceptDocument(doc.doc, drop_overlaps(doc.concepts, types), (CONCEPTS,))
    if identified is None:
        return Case(doc.id, alone)
    joined = join_gold(alone, identified)
    return (
        Case(doc.id, alone, ConceptDocument(identified, gold=(PHI,)))
        if joined is None
        else Case(doc.id, joined, joined)
    )


def keep_cases_apart(
    cases: Mapping[str, Sequence[Case]], texts: Mapping[str, Sequence[ConceptDocument]]
) -> dict[str, list[Case]]:
    """Leave out cases of training and dev whose text shares ten tokens in a row with a later part.

    The parts are `train`, `dev` and `test`. Compared are the `texts` with concepts, by the same parts: the
    head of a letter is made for each case and says who wrote it, not what happened.
    """
    docs = {part: [one.doc for one in found] for part, found in texts.items()}
    kept = {
        "train": without_near_duplicates(docs["train"], docs["dev"] + docs["test"]),
        "dev": without_near_duplicates(docs["dev"], docs["test"]),
        "test": docs["test"],
    }
    ids = {part: {doc.id for doc in found} for part, found in kept.items()}
    return {part: [case for case in found if case.id in ids[part]] for part, found in cases.items()}
