"""Surrogates of places: streets, cities, regions, countries, hospitals, firms, schools, post codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

from inverse_deid.replacement.keys import Draws
from inverse_deid.replacement.surrogates.faker_names import SurrogateNames, faker_words
from inverse_deid.replacement.surrogates.numbers import NumberSurrogates, same_kind
from inverse_deid.replacement.surrogates.people import PersonSurrogates
from inverse_deid.replacement.surrogates.reserved import GENERIC_WORDS, Reserved, in_case_of, joined

_TRIES = 200
_MAX_WORDS = 8
_MAX_CITY_WORDS = 4
_MIN_STEM = 3
_Choice = TypeVar("_Choice")
_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_PLAIN = re.compile(r"[^\W\d_][^\W\d_\s.,&'\u2019()-]*(?:[\s.,&'\u2019()-]+[^\W\d_]+)*[.)]?")
_SMALL = frozenset(
    ("of", "the", "and", "for", "on", "upon", "de", "la", "le", "di", "du", "des", "am", "an", "y")
)

_LEAD = re.compile(rf"(?:(?:{'|'.join(sorted(_SMALL - {'the'}))}|at|from|in|near|to) )+")
_ADJECTIVE = re.compile(
    r"(?:.{2,}(?:[iy]sh|ese|ian|ean|ican)|french|dutch|greek|czech|swiss|thai)", re.IGNORECASE
)

_STREET_TYPES = (("Street", "St"), ("Road", "Rd"), ("Avenue", "Ave"), ("Lane", "Ln"), ("Drive", "Dr"),
                 ("Court", "Ct"), ("Place", "Pl"), ("Square", "Sq"), ("Boulevard", "Blvd"))  # fmt: skip
_LONG_TYPES = (*(long for long, _ in _STREET_TYPES), "Close", "Way", "Terrace", "Crescent", "Row",
               "Gardens", "Grove", "Walk", "Rise", "Mews", "Highway", "Parkway")  # fmt: skip
_SHORT_TYPES = (*(short for _, short in _STREET_TYPES), "Av", "Hwy", "Pkwy")
_STREET = re.compile(
    r"(?:(?P<number>\d{1,5}[A-Za-z]?(?:[-/]\d{1,4})?),? )?(?P<name>[^\W\d_][^\d,]*?) "
    rf"(?P<type>{'|'.join((*_LONG_TYPES, *_SHORT_TYPES))})(?P<dot>\.?)(?P<house>(?: [NSEW])?)",
    re.IGNORECASE,
)
_FOREIGN_STREET = re.compile(
    r"(?P<name>[^\W\d_][^\d,]*?)(?P<gap> ?)"
    r"(?P<type>weg|straße|strasse|str\.?|gasse|allee|platz|gatan|vägen|laan|straat)"
    r"(?P<number> \d{1,4}[A-Za-z]?)?",
    re.IGNORECASE,
)
_LEADING_STREET = re.compile(
    r"(?P<number>\d{1,4},? )?(?P<type>Rue|Via|Calle|Rua|Avenida|Piazza|Plaza) (?P<name>[^\W\d_][^\d,]*)"
    r"(?P<house>,? \d{1,4})?",
    re.IGNORECASE,
)
_KINDS = tuple((frozenset(signs.split()), kinds) for signs, kinds in (
    ("pharmacy chemist chemists dispensary", ("Pharmacy", "Dispensary", "Chemists")),
    ("laboratory laboratories lab labs", ("Laboratory", "Laboratories", "Diagnostics")),
    ("hospice", ("Hospice", "Palliative House")),
    ("nursing care home", ("Nursing Home", "Care Home", "Retirement Residence")),
    ("hospital infirmary medical klinik klinikum krankenhaus hopital ospedale sanatorium",
     ("Hospital", "Infirmary", "Medical Centre", "Medical Center")),
    ("clinic surgery practice health centre center", ("Clinic", "Surgery", "Practice", "Polyclinic")),
    ("university college school academy institute", ("University", "College", "School", "Academy")),
    ("agency authority ministry department", ("Agency", "Authority", "Bureau")),
    ("foundation society association trust charity", ("Foundation", "Society", "Association", "Trust")),
    ("inc ltd llc plc gmbh ag ab sa corp corporation company co group pharma pharmaceuticals biologics "
     "limited insurance bank holdings biotech", ("Ltd", "Inc", "LLC", "PLC", "Group", "Holdings")),
))  # fmt: skip
_KIND_WORDS = frozenset(word for signs, _ in _KINDS for word in signs)
_POST_CODE = re.compile(
    r"\d{4,6}(?:-\d{3,4})?|\d{3} \d{2,3}|\d{4} ?[A-Z]{2}|"
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d"
)
_CITY_AND_CODES = re.compile(
    r"(?P<city>[^\W\d_][^\d,]*?)(?P<state> [A-Z]{2})?(?P<gap> )(?P<code>\d{5}(?:-\d{4})?)|"
    r"(?P<city2>[^\W\d_][^\d,]*?)(?P<gap2> )(?P<state2>[A-Z]{2})"
)


class PlaceSurrogates:
    """Makes the surrogates of the places of one case, named after persons.

    A single word has the surrogate that `people` gives it: whether `Bath` is a town or a person is a guess,
    which another row of the case may make in another way.
    """

    def __init__(
        self,
        draws: Draws,
        reserved: Reserved,
        pools: SurrogateNames,
        numbers: NumberSurrogates,
        people: PersonSurrogates,
    ) -> None:
        self._draws = draws
        self._reserved = reserved
        self._pools = pools
        self._people = people
        self._numbers = numbers
        self._of_place: dict[str, str] = {}
        self._of_name: dict[str, str] = {}
        self._of_number: dict[str, str] = {}

    def replacement(self, text: str) -> str | None:
        """Return another place of the same sort, None = the text is not understood."""
        lead = _LEAD.match(text)
        if lead is not None:
            rest = self.replacement(text[lead.end() :])
            return None if rest is None else lead.group() + rest
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > 1 and not _STREET.fullmatch(text) and not _LEADING_STREET.fullmatch(text):
            return self._replace_parts(text)
        if _POST_CODE.fullmatch(text):
            return self._numbers.identifier(text)
        return self._replace_place(text)

    def _replace_parts(self, text: str) -> str | None:
        pieces: list[str] = []
        for piece in re.split(r"(\s*,\s*)", text):
            is_gap = not piece.strip(" ,\t\n")
            replaced = piece if is_gap else self.replacement(piece)
            if replaced is None:
                return None
            pieces.append(replaced)
        return "".join(pieces)

    def _replace_place(self, text: str) -> str | None:
        known = self._of_place.get(joined(text))
        if known is not None:
            return in_case_of(known, text)
        made = self._replace_street(text) or self._replace_name(text) or self._replace_codes(text)
        if made is not None:
            self._of_place[joined(text)] = made
            return in_case_of(made, text)
        return None

    def _replace_street(self, text: str) -> str | None:
        if not _is_capital(text):
            return None
        if match := _STREET.fullmatch(text):
            is_short = match["type"].capitalize() in _SHORT_TYPES
            lead = text[: match.start("name")].replace(
                match["number"] or "-", self._replace_number(match["number"])
            )
            types = [pair for pair in _STREET_TYPES if not any(map(self._reserved.is_real, pair))]
            kinds = [pair[is_short] for pair in self._shuffle("street", match["name"], types)]
            tail = match["dot"] + match["house"]
            return self._make(text, match["name"], (f"{lead}{{}} {kind}{tail}" for kind in kinds))
        if (match := _FOREIGN_STREET.fullmatch(text)) and len(match["name"]) >= _MIN_STEM:
            tail = match["type"] + self._replace_number(match["number"])
            return self._make(text, match["name"].strip(), [f"{{}}{match['gap']}{tail}"])
        if match := _LEADING_STREET.fullmatch(text):
            begin, tail = (
                self._replace_number(match["number"]) + match["type"],
                self._replace_number(match["house"]),
            )
            return self._make(text, match["name"], [f"{begin} {{}}{tail}"])
        return None

    def _replace_number(self, number: str | None) -> str:
        if not number:
            return ""
        if number not in self._of_number:
            self._of_number[number] = self._draw_number(number)
        return self._of_number[number]

    def _draw_number(self, number: str) -> str:
        # None that occurs in the case. Of as many digits if one is left, else of more.
        rng, taken = self._draws.rng("house", number), {*self._of_number.values(), number}
        fresh, n_drawn = number, 0
        while fresh in taken or self._reserved.is_real_word(fresh):
            longer = "1" * (n_drawn // _TRIES)
            drawn = (str(rng.randrange(1, 10)) if c.isdigit() else same_kind(c, rng) for c in number)
            fresh, n_drawn = longer + "".join(drawn), n_drawn + 1
        return fresh

    def _replace_name(self, text: str) -> str | None:
        key = joined(text)
        for names in _load_listed_names():
            if key in names and (names[key] != names[key].upper() or text.isupper()):
                return self._take_first(text, self._shuffle("listed", text, tuple(names.values())))
        words = _WORDS.findall(text)
        if not _PLAIN.fullmatch(text) or len(words) > _MAX_WORDS or not _is_capital(text):
            return None
        plain = [joined(word) for word in words]
        own = [word for word in plain if word not in _KIND_WORDS and word not in _SMALL]
        for signs, kinds in _KINDS:
            if signs & set(plain):
                free = [kind for kind in kinds if not self._reserved.is_real(kind)]
                shapes = (f"{{}} {kind}" for kind in self._shuffle("kind", text, free))
                return self._make(text, " ".join(own), shapes)
        if set(plain) <= GENERIC_WORDS or (len(words) == 1 and _ADJECTIVE.fullmatch(text)):
            return None
        if len(words) > _MAX_CITY_WORDS or (text.isupper() and len(key) <= _MIN_STEM) or len(key) < _MIN_STEM:
            return None
        endings = faker_words("address", ["en_US"], ["city_suffixes"])
        towns = ["{}" + ending for ending in self._shuffle("city", text, endings)]
        return self._make(text, " ".join(own), ["{}", *towns] if len(own) == 1 else towns)

    def _replace_codes(self, text: str) -> str | None:
        # `Boston MA 02139` or `Boston MA`.
        match = _CITY_AND_CODES.fullmatch(text)
        if match is None:
            return None
        pieces = (match["city"] or match["city2"], match["state"] or match["state2"], match["code"])
        replaced = [self.replacement(piece.strip()) for piece in pieces if piece]
        whole = [piece for piece in replaced if piece is not None]
        return " ".join(whole) if len(whole) == len(replaced) else None

    def _shuffle(self, purpose: str, original: str, choices: Sequence[_Choice]) -> list[_Choice]:
        return self._draws.rng(purpose, joined(original)).sample(choices, len(choices))

    def _make(self, text: str, name: str, shapes: Iterable[str]) -> str | None:
        stem = self._draw_stem(joined(name)) if name else None
        return None if stem is None else self._take_first(text, [shape.format(stem) for shape in shapes])

    def _draw_stem(self, key: str) -> str | None:
        # The same for everything that has one name.
        as_person = self._people.replace_key(key)
        if as_person is None and key not in self._of_name:
            rng = self._draws.rng("place", key)
            for _ in range(_TRIES):
                stem = rng.choice(self._pools.all_surnames)
                if not self._reserved.is_near(stem) and self._reserved.take(stem, key):
                    self._of_name[key] = stem
                    break
        return as_person or self._of_name.get(key)

    def _take_first(self, text: str, found: Iterable[str]) -> str | None:
        free = (one for one in found if not self._reserved.is_real(one))
        return next((one for one in free if self._reserved.take(one, text)), None)


def _is_capital(text: str) -> bool:
    # All words except small ones begin with a capital.
    return all(word[0].isupper() or joined(word) in _SMALL for word in _WORDS.findall(text))


@cache
def _load_listed_names() -> tuple[dict[str, str], ...]:
    countries = faker_words("address", ["en"], ["countries"])
    plain = [name for name in countries if re.fullmatch("[A-Z][a-z]+(?: [A-Z][a-z]+)?", name)]
    states = faker_words("address", ["en_US"], ["states"])
    codes = faker_words("address", ["en_US"], ["states_abbr"])
    return tuple({joined(name): name for name in names} for names in (plain, states, codes))
