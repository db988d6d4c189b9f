"""Surrogates for the masks of cases; drugs and medical terms keep their marker."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from inverse_deid.core.phi import HyperClass
from inverse_deid.masking.cases.masker import Surrogate
from inverse_deid.masking.cases.texts import CaseTexts
from inverse_deid.replacement.faker_lists import faker_version
from inverse_deid.replacement.surrogates import CaseSurrogates
from inverse_deid.rules.medical_words import HoldsMedicalWord
from inverse_deid.text.tokenizer import tokenize


@dataclass(frozen=True, slots=True)
class KeyedSurrogates:
    """Surrogates that a key repeats (a `SurrogatesFor`).

    Args:
        key: At least 16 secret bytes.
        holds_medical_word: Of the words of a mask, whether one is a drug or a medical term.
    """

    key: bytes = field(repr=False)
    holds_medical_word: HoldsMedicalWord = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Changes with the version of the lists that names are drawn from; the settings tell the key."""
        return hashlib.sha256(f"surrogates of Faker {faker_version()}".encode()).hexdigest()

    def __call__(self, case: CaseTexts, real_values: Sequence[str]) -> Surrogate:
        """The surrogates of one case.

        Raises:
            ConfigurationError: A short key, a case without an id, or Faker is not installed.
        """
        kept = [doc.text for doc in case.docs]
        surrogates = CaseSurrogates(self.key, case.id, real_values, kept=kept)

        def surrogate(text: str, category: HyperClass) -> str | None:
            if self.holds_medical_word(tokenize(text).words, category):
                return None
            return surrogates.replacement(text, category)

        return surrogate
