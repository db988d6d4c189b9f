"""Fresh surrogates for annotated identifiers, in the shape of the original or in a new one."""

from __future__ import annotations

import random
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora import ages, dates, identifiers, places
from inverse_deid.training.corpora.people import (
    NamePools,
    Person,
    draw_form,
    draw_given,
    draw_person,
    draw_surname,
    load_name_pools,
    write_name,
)
from inverse_deid.training.corpora.wordlists import words

Move = tuple[int, int, int]
"""A stretch that was copied: its start and end in the old text, its start in the new one."""


class TextBuilder:
    """Collects pieces of text; a marked piece becomes a span. `change_case` must keep lengths.

    Example:
        >>> builder = TextBuilder()
        >>> builder.add("Seen by Dr. ")
        >>> builder.mark("Okafor", PhiType.DOCTOR)
        >>> builder.document("d1").spans[0].start
        12
    """

    def __init__(self, change_case: Callable[[str], str] = str) -> None:
        self._change_case = change_case
        self._pieces: list[str] = []
        self._spans: list[PhiSpan] = []
        self._length = 0
        self.moves: list[Move] = []

    def add(self, text: str) -> None:
        """Append safe text."""
        text = self._change_case(text)
        self._pieces.append(text)
        self._length += len(text)

    def mark(self, text: str, phi_type: PhiType) -> None:
        """Append an identifier; white space at its ends stays outside the span."""
        core = text.strip()
        start = self._length + len(text) - len(text.lstrip())
        self.add(text)
        if core:
            self._spans.append(PhiSpan(start, self._length - (len(text) - len(text.rstrip())), phi_type))

    def copy(self, doc: Document, start: int, end: int) -> None:
        """Append a stretch of a document with the spans inside it."""
        shift = self._length - start
        self.moves.append((start, end, self._length))
        inside = (span for span in doc.spans if start <= span.start and span.end <= end)
        self._spans += [PhiSpan(span.start + shift, span.end + shift, span.type) for span in inside]
        self._pieces.append(doc.text[start:end])
        self._length += end - start

    def document(self, doc_id: str, **meta: str) -> Document:
        """Return the document built so far."""
        return Document(doc_id, "".join(self._pieces), tuple(self._spans), meta=meta)


def hard_wrapped(text: str, width: int) -> str:
    r"""Break lines longer than `width` at spaces; each break replaces one space, so that offsets stay.

    Example:
        >>> hard_wrapped("seen by Dr. Okafor", 12)
        'seen by Dr.\nOkafor'
    """
    return re.sub(rf"(?=[^\n]{{{width + 1}}})([^\n]{{1,{width}}}) ", r"\1\n", text)


_NAME_TOKEN = re.compile(r"[^\W\d_]+")
_CONSISTENT_SHARE = 0.85
_NAMES = (PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR)
_LISTED = {PhiType.STATE: "states", PhiType.COUNTRY: "countries"}


@dataclass(slots=True)
class CaseContext:
    """The habits and replaced names that the surrogates of one document share.

    If `consistent`, the same original name token gives the same surrogate token; `tokens` has those
    replaced so far, by their case-folded original. `after` is the text after the span to replace (it
    tells an age's unit).
    """

    consistent: bool = True
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    day_first: bool = False
    after: str = field(default="", repr=False)


class SurrogateMaker:
    """Makes surrogates of every PHI type; all randomness comes from the injected `rng`.

    Example:
        >>> maker = SurrogateMaker(random.Random(0))
        >>> len(maker.make(PhiType.DATE, "15MAR2021")) > 3
        True
    """

    def __init__(
        self, rng: random.Random, *, names: NamePools | None = None, shape_share: float = 0.5
    ) -> None:
        self.rng = rng
        self.names = names if names is not None else load_name_pools()
        self.shape_share = shape_share

    def make(self, phi_type: PhiType, original: str, context: CaseContext | None = None) -> str:
        """Return a fresh surrogate, not empty and without white space at its ends.

        About half keep the rough shape of the original, which is not empty. Without a context, each is
        drawn on its own.
        """
        context = context or CaseContext(consistent=False)
        keep_shape = self.rng.random() < self.shape_share
        if phi_type in _NAMES:
            text = self._name(phi_type, original, context, keep_shape=keep_shape)
        elif phi_type is PhiType.DATE:
            text = self._date(original, context, keep_shape=keep_shape)
        elif phi_type is PhiType.AGE:
            text = ages.draw_age(self.rng, original, context.after)
        elif identifiers.is_numbered(phi_type) and keep_shape:
            text = identifiers.reshape_number(original, self.rng)
        else:
            text = like_case(self.draw(phi_type), original, self.rng)
        return text.strip() or original

    def draw(self, phi_type: PhiType, person: Person | None = None) -> str:
        """Draw a new identifier of the type that owes nothing to any original."""
        rng, pools = self.rng, self.names
        if phi_type in _NAMES:
            return write_name(person or draw_person(rng, pools), rng, phi_type.value)
        if phi_type is PhiType.DATE:
            return dates.render_date(dates.draw_pattern(rng), dates.random_date(rng), rng)
        if phi_type is PhiType.AGE:
            return ages.draw_age(rng)
        if identifiers.is_numbered(phi_type):
            return identifiers.draw_number(rng, phi_type)
        if phi_type in _LISTED:
            return rng.choice(words(_LISTED[phi_type]))
        return self._draw_other(phi_type, person)

    def _draw_other(self, phi_type: PhiType, person: Person | None) -> str:
        rng, pools = self.rng, self.names
        if phi_type in (PhiType.EMAIL, PhiType.USERNAME):
            make = identifiers.draw_email if phi_type is PhiType.EMAIL else identifiers.draw_username
            return make(rng, person or draw_person(rng, pools))
        if phi_type is PhiType.URL:
            return identifiers.draw_url(rng)
        if phi_type is PhiType.IPADDR:
            return identifiers.draw_ip(rng)
        if phi_type is PhiType.PROFESSION:
            return places.draw_profession(rng)
        draw = {
            PhiType.HOSPITAL: places.draw_hospital, PhiType.ORGANIZATION: places.draw_organisation,
            PhiType.STREET: places.draw_street, PhiType.CITY: places.draw_city,
            PhiType.LOCATION_OTHER: places.draw_landmark,
        }[phi_type]  # fmt: skip
        return draw(rng, pools)

    def _date(self, original: str, context: CaseContext, *, keep_shape: bool) -> str:
        pattern = dates.pattern_of(original) if keep_shape else None
        if pattern is None:
            pattern = dates.draw_pattern(self.rng)
        if context.day_first:
            pattern = pattern.replace("{m}/{d}", "{d}/{m}").replace("{mm}/{dd}", "{dd}/{mm}")
        return dates.render_date(pattern, dates.random_date(self.rng), self.rng)

    def _name(self, phi_type: PhiType, original: str, context: CaseContext, *, keep_shape: bool) -> str:
        if _is_initials(original):
            return self._initials(original) if keep_shape else self._write_anew(phi_type, "", "", context)
        tokens = [
            t
            for t in _NAME_TOKEN.findall(original)
            if len(t) > 1 and t.lower() not in words("name_particles")
        ]
        if keep_shape or not tokens:
            return self._keep_shape(original, context)
        surname, given = (tokens[0], tokens[-1]) if "," in original else (tokens[-1], tokens[0])
        return self._write_anew(phi_type, given if len(tokens) > 1 else "", surname, context)

    def _write_anew(self, phi_type: PhiType, given: str, surname: str, context: CaseContext) -> str:
        person = Person(
            self._token(given, context, first=True), self._token(surname, context, first=False),
            draw_given(self.rng, self.names), self.rng.choice(words("nicknames")),
        )  # fmt: skip
        form = draw_form(self.rng, phi_type.value)
        return write_name(person, self.rng, phi_type.value, form)

    def _keep_shape(self, original: str, context: CaseContext) -> str:
        n_tokens, comma = len(_NAME_TOKEN.findall(original)), original.find(",")
        position = 0

        def replace(match: re.Match[str]) -> str:
            nonlocal position
            token, position = match.group(), position + 1
            if len(token) == 1:
                return like_case(self.rng.choice("ABCDEFGHIJKLMNOPRSTVWYZ"), token, self.rng, exact=True)
            if token.lower() in words("name_particles"):
                return token
            is_given = match.start() > comma if comma >= 0 else position < n_tokens or n_tokens == 1
            return like_case(self._token(token, context, first=is_given), token, self.rng, exact=True)

        return _NAME_TOKEN.sub(replace, original)

    def _token(self, original: str, context: CaseContext, *, first: bool) -> str:
        known = context.tokens.get(original.casefold()) if context.consistent and original else None
        if known is not None:
            return known
        fresh = (draw_given if first else draw_surname)(self.rng, self.names)
        if original:
            context.tokens[original.casefold()] = fresh
        return fresh

    def _initials(self, original: str) -> str:
        return "".join(
            like_case(self.rng.choice("ABCDEFGHIJKLMNOPRSTVWYZ"), char, self.rng, exact=True)
            if char.isalpha()
            else char
            for char in original
        )


def like_case(text: str, original: str, rng: random.Random, *, exact: bool = False) -> str:
    """Write the text in the case of the original (mostly, or always if `exact`)."""
    letters = [char for char in original if char.isalpha()]
    if not letters or (not exact and rng.random() < 0.15):
        return text
    if all(char.isupper() for char in letters) and (len(letters) > 1 or exact):
        return text.upper()
    if all(char.islower() for char in letters):
        return text.lower()
    return text


def _is_initials(original: str) -> bool:
    letters = [char for char in original if char.isalpha()]
    runs = _NAME_TOKEN.findall(original)
    one_case = original.isupper() or original.islower()
    return bool(letters) and (
        all(len(run) == 1 for run in runs) or (len(letters) <= 3 and one_case and len(runs) == 1)
    )


def with_fresh_surrogates(
    doc: Document, maker: SurrogateMaker, rng: random.Random, *, keep_share: float = 0.12
) -> Document:
    """Replace the identifiers of an annotated document by fresh surrogates.

    `rng` leaves `keep_share` of the spans, in [0, 1], as they are. Id, safe text and types stay.
    """
    context = CaseContext(consistent=rng.random() < _CONSISTENT_SHARE, day_first=rng.random() < 0.3)
    pieces: list[str] = []
    spans: list[PhiSpan] = []
    position = length = 0
    for span in doc.spans:
        between, original = doc.text[position : span.start], doc.text[span.start : span.end]
        context.after = doc.text[span.end : span.end + 12]
        surrogate = original if rng.random() < keep_share else maker.make(span.type, original, context)
        pieces += (between, surrogate)
        start = length + len(between)
        length = start + len(surrogate)
        spans.append(PhiSpan(start, length, span.type))
        position = span.end
    pieces.append(doc.text[position:])
    return Document(doc.id, "".join(pieces), tuple(spans), meta=doc.meta)


def identifiers_by_type(docs: Iterable[Document]) -> Mapping[PhiType, Sequence[str]]:
    """Return all identifiers of annotated documents by type, stripped, with repetitions."""
    found: dict[PhiType, list[str]] = defaultdict(list)
    for doc in docs:
        for span in doc.spans:
            if text := doc.text[span.start : span.end].strip():
                found[span.type].append(text)
    return found


def with_exchanged_identifiers(
    doc: Document, pool: Mapping[PhiType, Sequence[str]], rng: random.Random, *, keep_share: float = 0.5
) -> Document:
    """Replace identifiers by others of their type, from `identifiers_by_type`, with fresh digits.

    `keep_share` of the spans, in [0, 1], are left as they are. Id, safe text and types stay. White
    space at the ends of a span stays where it is and is no longer marked.

    Example:
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("d", "Sra. Gil", (PhiSpan(5, 8, PhiType.PATIENT),))
        >>> with_exchanged_identifiers(doc, {PhiType.PATIENT: ["Ruiz"]}, random.Random(1), keep_share=0).text
        'Sra. Ruiz'
    """
    builder = TextBuilder()
    position = 0
    for span in doc.spans:
        builder.add(doc.text[position : span.start])
        text = doc.text[span.start : span.end]
        others = pool.get(span.type, ())
        if others and rng.random() >= keep_share and (core := text.strip()):
            other = "".join(rng.choice(string.digits) if c.isdecimal() else c for c in rng.choice(others))
            text = text.replace(core, other, 1)
        builder.mark(text, span.type)
        position = span.end
    builder.add(doc.text[position:])
    return builder.document(doc.id, **doc.meta)
