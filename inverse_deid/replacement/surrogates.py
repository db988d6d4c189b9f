"""Surrogates: made-up values in the place of the masked ones, consistent within a case.

What cannot be replaced for certain keeps its marker. Dates and ages are not replaced here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.replacement.address_surrogates import AddressSurrogates
from inverse_deid.replacement.number_surrogates import NumberSurrogates
from inverse_deid.replacement.person_surrogates import PersonSurrogates
from inverse_deid.replacement.place_surrogates import PlaceSurrogates
from inverse_deid.replacement.profession_surrogates import ProfessionSurrogates
from inverse_deid.replacement.surrogate_draws import Draws, Reserved, joined
from inverse_deid.replacement.surrogate_names import load_surrogate_names

MAX_CHARS = 120

_USER_NAME = re.compile(r"[a-z][a-z._-]*\d{1,4}")
_NAME_AND_PHONE = re.compile(
    r"(?P<name>[^\d+(]*[^\W\d_]\.?)(?P<gap>[\s,]+)(?P<phone>[+(]?\d[\d\s().+-]{5,}\d)"
)


class CaseSurrogates:
    """The surrogates of one case; make one for each case, and ask it for every mask in text order.

    Args:
        key: At least 16 secret bytes; with the same key and case the same surrogates come out.
        case_id: The case's id.
        real_values: All masked texts of the case and its structured values: no surrogate is one of
            them or shares a word of three letters with one.
        kept: Texts that are seen beside the surrogates, or hold what is seen: best the originals.
            No made-up name is a word of them.

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
        reserved = Reserved(real_values, kept)
        self._numbers = NumberSurrogates(draws, reserved)
        self._people = PersonSurrogates(draws, reserved, pools, real_values)
        self._places = PlaceSurrogates(draws, reserved, pools, self._numbers)
        self._addresses = AddressSurrogates(draws, self._numbers)
        self._professions = ProfessionSurrogates(draws, reserved)
        self._reserved = reserved
        self._category_of: dict[str, HyperClass] = {}
        self._pairs: dict[str, str] = {}

    @property
    def pairs(self) -> Mapping[str, str]:
        """From every surrogate that was given out to its original, as it was written first."""
        return MappingProxyType(self._pairs)

    def replacement(self, text: str, category: HyperClass) -> str | None:
        """What stands in the place of a masked text.

        Args:
            text: The words of one mask, as they stand in the original.
            category: What they are taken for; SAFE = not known.

        Returns:
            None to let the marker stand: dates, ages, and all that is not understood as a whole.
        """
        words = text.strip()
        if category in (HyperClass.DATE, HyperClass.AGE) or not 0 < len(words) <= MAX_CHARS:
            return None
        found = self._found(words, self._category_of.get(joined(words), category))
        if found is None or found == words or self._reserved.is_real_whole(found):
            return None
        self._category_of.setdefault(joined(words), category)
        self._pairs.setdefault(found, words)
        lead = text[: len(text) - len(text.lstrip())]
        return lead + found + text[len(lead) + len(words) :]

    def _found(self, words: str, category: HyperClass) -> str | None:
        address = self._addresses.replacement(words)
        if address is not None or category is HyperClass.SAFE:
            return address
        if category in (HyperClass.PLACE, HyperClass.PROFESSION) and self._people.knows(words):
            category = HyperClass.NAME
        match category:
            case HyperClass.NAME:
                return self._name(words)
            case HyperClass.PLACE:
                return self._places.replacement(words)
            case HyperClass.CONTACT:
                return self._numbers.phone(words) or self._name_and_phone(words)
            case HyperClass.ID:
                return self._numbers.identifier(words)
            case _:
                return self._professions.replacement(words)

    def _name(self, words: str) -> str | None:
        if _USER_NAME.fullmatch(words):
            return self._numbers.user_name(words)
        return self._people.replacement(words) or self._name_and_phone(words)

    def _name_and_phone(self, words: str) -> str | None:
        """`Smith 555-0134`: both or nothing."""
        match = _NAME_AND_PHONE.fullmatch(words)
        if match is None:
            return None
        name, phone = self._people.replacement(match["name"]), self._numbers.phone(match["phone"])
        return None if name is None or phone is None else f"{name}{match['gap']}{phone}"
