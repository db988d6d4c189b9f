"""Surrogates of professions, from Faker's list of jobs (MIT licence)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from inverse_deid.replacement.faker_lists import faker_words
from inverse_deid.replacement.surrogate_draws import Draws, Reserved, in_case_of, joined, words_of

_SIMPLE = re.compile("[A-Z][a-z]+(?: [a-z]+){0,2}")
_MASKED = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,4}")
_ENDING = re.compile(r".{3,}(?:er|or|ist|ian|man|woman|ant|eer|herd|maid|wright|smith|keeper)s?")
_VOWELS = frozenset("aeio")
_NO_PLURAL = re.compile(r"(?:s|man|woman|crew|boy|ch|y)$")


@dataclass(frozen=True, slots=True)
class _Jobs:
    names: tuple[str, ...]
    words: frozenset[str] = field(repr=False)


@cache
def _jobs() -> _Jobs:
    names = [job.lower() for job in faker_words("job", [""], ["jobs"]) if _SIMPLE.fullmatch(job)]
    return _Jobs(tuple(names), frozenset(name.split()[-1] for name in names))


class ProfessionSurrogates:
    """The surrogates of the professions of one case.

    Args:
        draws: The case's chance.
        reserved: What they must not be.
    """

    def __init__(self, draws: Draws, reserved: Reserved) -> None:
        self._draws = draws
        self._reserved = reserved
        self._of_profession: dict[str, str] = {}

    def replacement(self, text: str) -> str | None:
        """Another profession, None = the text is not known as one.

        The same *a* or *an* fits before it, and it is plural if the original is.

        Example:
            >>> ProfessionSurrogates(Draws(bytes(16), "1"), Reserved([], [])).replacement("rash") is None
            True
        """
        last = (words_of(text) or [""])[-1]
        is_known = last in _jobs().words or last.removesuffix("s") in _jobs().words
        if not _MASKED.fullmatch(text) or not (is_known or _ENDING.fullmatch(last)):
            return None
        job = self._of_profession.get(joined(text)) or self._fresh(text, last)
        if job is None:
            return None
        self._of_profession[joined(text)] = job
        return in_case_of(job[0].upper() + job[1:] if text[0].isupper() else job, text)

    def _fresh(self, text: str, last: str) -> str | None:
        is_plural = last.endswith("s") and last not in _jobs().words
        rng = self._draws.rng("profession", joined(text))
        for job in rng.sample(_jobs().names, len(_jobs().names)):
            has_vowel = (job[0] in _VOWELS) == (joined(text)[0] in _VOWELS)
            if not has_vowel or (is_plural and _NO_PLURAL.search(job)):
                continue
            found = f"{job}s" if is_plural else job
            if not self._reserved.is_real(found) and self._reserved.take(found, text):
                return found
        return None
