"""Concept match: only stop words and terms of a terminology are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon
from inverse_deid.research.comparison.systems import ranges_of
from inverse_deid.text.tokenizer import tokenize

KEPT = WordFlag.STOP_WORD | WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT
"""What of the lexicon is kept: stop words and its medical lists, not the general English ones."""


class ConceptMatch:
    """Masks every word that is neither a stop word nor in a medical list; learns nothing.

    Where Berman matches whole terms and writes a code and a synonym, this keeps each
    word that stands in a term. A word that is also a name is kept: the method has no
    list of names.

    Args:
        lexicon: None = the packaged one.

    Source:
        Berman 2003, "Concept-match medical data scrubbing", Archives of Pathology and
        Laboratory Medicine 127(6).

    Example:
        >>> ConceptMatch().masks([Document("a", "the rash of Okonkwo")])
        [[(12, 19)]]
    """

    name = "dictionary"
    title = "Concept match"
    source = "Berman 2003, with the packaged lexicon: stop words and medical terms are kept"

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or load_lexicon()

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Do nothing."""

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a masked word."""
        return [self._masks(doc.text) for doc in docs]

    def _masks(self, text: str) -> list[Range]:
        tokens = tokenize(text)
        flags = self._lexicon.lookup(tokens.words).flags
        return ranges_of(tokens, (flags & np.uint32(KEPT)) == 0)
