"""Surrogates: made-up values that replace masked ones, consistent within a case.

A mask that cannot be replaced for certain keeps its marker, and so do drugs and medical terms.
Dates and ages have their own replacers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Protocol

from inverse_deid.core.phi import HyperClass
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.keys import Draws
from inverse_deid.replacement.masked_words import TIMELY, MaskedWords, Proposal
from inverse_deid.replacement.surrogates.faker_names import faker_version, faker_words, load_surrogate_names
from inverse_deid.replacement.surrogates.numbers import NumberSurrogates
from inverse_deid.replacement.surrogates.people import PersonSurrogates
from inverse_deid.replacement.surrogates.places import PlaceSurrogates
from inverse_deid.replacement.surrogates.reserved import Reserved, in_case_of, joined, words_of
from inverse_deid.text.tokenizer import tokenize

MAX_CHARS = 120

Surrogate = Callable[[str, HyperClass], str | None]
"""From the words of a mask and what they are taken for to their surrogate, None = the marker."""

HasMedicalWord = Callable[[Sequence[str], HyperClass], bool]
"""Whether one of the words of a mask is a drug or a medical term, given what they are taken for."""

_NAME_AND_PHONE = re.compile(
    r"(?P<name>[^\d+(]*[^\W\d_]\.?)(?P<gap>[\s,]+)(?P<phone>[+(]?\d[\d\s().+-]{5,}\d)"
)
_SIMPLE_JOB = re.compile("[A-Z][a-z]+(?: [a-z]+){0,2}")
_PROFESSION = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,4}")
_PROFESSION_ENDING = re.compile(r".{3,}(?:er|or|ist|ian|man|woman|ant|eer|herd|maid|wright|smith|keeper)s?")
_VOWELS = frozenset("aeio")
_NO_PLURAL = re.compile(r"(?:s|man|woman|crew|boy|ch|y)$")


class SurrogatesFor(Protocol):
    """Gives every case its surrogates."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything except the key that can change a surrogate."""
        ...

    def __call__(self, case: CaseTexts, real_values: Sequence[str], /) -> Surrogate:
        """Return the surrogates of a case with these known values and words of masks."""
        ...


@dataclass(frozen=True, slots=True)
class KeyedSurrogates:
    """Surrogates that a key repeats (a `SurrogatesFor`)."""

    key: bytes = field(repr=False)  # at least 16 secret bytes
    # Tells drugs and medical terms, which keep their marker.
    has_medical_word: HasMedicalWord = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Changes with the version of Faker; the fingerprint of the settings covers the key."""
        return hashlib.sha256(f"surrogates 2 of Faker {faker_version()}".encode()).hexdigest()

    def __call__(self, case: CaseTexts, real_values: Sequence[str]) -> Surrogate:
        """Return the surrogates of one case.

        Raises:
            ConfigurationError: A short key, a case without an id, or Faker is not installed.
        """
        surrogates = CaseSurrogates(self.key, case.id, real_values, kept=[doc.text for doc in case.docs])

        def surrogate(text: str, category: HyperClass) -> str | None:
            is_medical = self.has_medical_word(tokenize(text).words, category)
            return None if is_medical else surrogates.replacement(text, category)

        return surrogate


class SurrogateReplacer:
    """Replaces the masked words of one case that are neither dates nor ages (a `Replacer`).

    No surrogate is a masked word of one of the texts.

    Raises:
        ConfigurationError: The surrogates cannot be made.
    """

    def __init__(self, case: CaseTexts, texts: Sequence[MaskedWords], surrogates_for: SurrogatesFor) -> None:
        known = [identifier.value for identifier in case.known_values]
        hidden = [text.masked.tokens.text[start:end] for text in texts for start, end in text.masked.masks]
        self._surrogate = surrogates_for(case, [*known, *case.values, *hidden])

    def propose(self, text: MaskedWords) -> list[Proposal]:
        """Propose surrogates for whole masks, or for their parts before and after dates and ages."""
        tokens = text.masked.tokens
        proposals: list[Proposal] = []
        for mask in text.by_mask:
            for is_timely, runs in groupby(mask, key=lambda run: run.category in TIMELY):
                if is_timely:
                    continue
                part = list(runs)
                first, stop = part[0].first, part[-1].stop
                words = tokens.text[tokens.starts[first] : tokens.ends[stop - 1]]
                surrogate = self._surrogate(words, text.category(first, stop))
                if surrogate is not None:
                    proposals.append(Proposal(first, stop, surrogate, "surrogate"))
        return proposals


class CaseSurrogates:
    """Makes the surrogates of one case: one object per case, asked for every mask in text order.

    Args:
        key: At least 16 secret bytes; the same key and case give the same surrogates.
        case_id: The case's id.
        real_values: All masked texts of the case and its structured values: no surrogate is one of
            them or shares a word of three letters with one.
        kept: Texts that are seen together with the surrogates, best the originals: no made-up name
            is a word of them.

    Raises:
        ConfigurationError: A short key, no id, or Faker is not installed.

    Example:
        >>> surrogates = CaseSurrogates(bytes(16), "case-1", ["Ann Li", "Li", "12-345"])
        >>> whole = surrogates.replacement("Ann Li", HyperClass.NAME)
        >>> surrogates.replacement("LI's", HyperClass.NAME) == whole.split()[1].upper() + "'s"
        True
        >>> surrogates.replacement("12 March", HyperClass.DATE) is None
        True
    """

    def __init__(
        self, key: bytes, case_id: str, real_values: Sequence[str], *, kept: Sequence[str] = ()
    ) -> None:
        draws = Draws(key, case_id)
        pools = load_surrogate_names()
        self._reserved = Reserved(real_values, kept)
        self._numbers = NumberSurrogates(draws, self._reserved)
        self._people = PersonSurrogates(draws, self._reserved, pools, real_values)
        self._places = PlaceSurrogates(draws, self._reserved, pools, self._numbers, self._people)
        self._professions = ProfessionSurrogates(draws, self._reserved)
        self._category_of: dict[str, HyperClass] = {}

    def replacement(self, text: str, category: HyperClass) -> str | None:
        """Return the surrogate of the words of one mask; the category is a guess, SAFE = not known.

        Returns:
            None to keep the marker: dates, ages, and everything that is not understood as a whole.
        """
        words = text.strip()
        if category in TIMELY or not 0 < len(words) <= MAX_CHARS:
            return None
        found = self._replace(words, self._category_of.get(joined(words), category))
        if found is None or found == words or self._reserved.is_real_whole(found):
            return None
        self._category_of.setdefault(joined(words), category)
        lead = text[: len(text) - len(text.lstrip())]
        return lead + found + text[len(lead) + len(words) :]

    def _replace(self, words: str, category: HyperClass) -> str | None:
        address = self._numbers.address(words)
        if address is not None or category is HyperClass.SAFE:
            return address
        if category in (HyperClass.PLACE, HyperClass.PROFESSION) and self._people.knows(words):
            category = HyperClass.NAME
        match category:
            case HyperClass.NAME:
                found = self._numbers.user_name(words) or self._people.replacement(words)
                return found or self._replace_name_and_phone(words)
            case HyperClass.PLACE:
                return self._places.replacement(words)
            case HyperClass.CONTACT:
                return self._numbers.phone(words) or self._replace_name_and_phone(words)
            case HyperClass.ID:
                return self._numbers.identifier(words)
            case _:
                return self._professions.replacement(words)

    def _replace_name_and_phone(self, words: str) -> str | None:
        # Both parts of `Smith 555-0134`, or none.
        match = _NAME_AND_PHONE.fullmatch(words)
        if match is None:
            return None
        name, phone = self._people.replacement(match["name"]), self._numbers.phone(match["phone"])
        return None if name is None or phone is None else f"{name}{match['gap']}{phone}"


@cache
def _load_jobs() -> tuple[tuple[str, ...], frozenset[str]]:
    found = [job.lower() for job in faker_words("job", [""], ["jobs"]) if _SIMPLE_JOB.fullmatch(job)]
    return tuple(found), frozenset(name.split()[-1] for name in found)


class ProfessionSurrogates:
    """Makes the surrogates of the professions of one case, from Faker's list of jobs."""

    def __init__(self, draws: Draws, reserved: Reserved) -> None:
        self._draws = draws
        self._reserved = reserved
        self._of_profession: dict[str, str] = {}

    def replacement(self, text: str) -> str | None:
        """Return another profession, None = the text is not known as one.

        The same *a* or *an* fits before it, and it is plural if the original is.
        """
        last = (words_of(text) or [""])[-1]
        is_known = not {last, last.removesuffix("s")}.isdisjoint(_load_jobs()[1])
        if not _PROFESSION.fullmatch(text) or not (is_known or _PROFESSION_ENDING.fullmatch(last)):
            return None
        job = self._of_profession.get(joined(text)) or self._draw(text, last)
        if job is None:
            return None
        self._of_profession[joined(text)] = job
        return in_case_of(job[0].upper() + job[1:] if text[0].isupper() else job, text)

    def _draw(self, text: str, last: str) -> str | None:
        names, last_words = _load_jobs()
        is_plural = last.endswith("s") and last not in last_words
        rng = self._draws.rng("profession", joined(text))
        for job in rng.sample(names, len(names)):
            has_vowel = (job[0] in _VOWELS) == (joined(text)[0] in _VOWELS)
            if not has_vowel or (is_plural and _NO_PLURAL.search(job)):
                continue
            found = f"{job}s" if is_plural else job
            if not self._reserved.is_real(found) and self._reserved.take(found, text):
                return found
        return None
