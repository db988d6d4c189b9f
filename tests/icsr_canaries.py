"""Canaries in every text, tail and attribute of an E2B message, one at a time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from icsr_messages import R2_DOCTYPE, invent
from icsr_trees import mark_texts, masked_file
from lxml import etree

from inverse_deid.core.errors import InputError, StageError
from inverse_deid.formats.icsr.standard.elements import Dialect, elements_in
from inverse_deid.formats.icsr.standard.profiles import Profile

CANARIES = {
    "surname": "Okonjarova",
    "phone": "5550147823",
    "word": "zwinkelig",
    "day": "19430217",
}
SENTENCES = (
    "given to Mrs Ada Okonjarova, MRN 4471922, tel 5550147823",
    "Okonjarova told us by phone 555 014 7823",
    "seen on 12.03.2020 by Dr Okonjarova",
    "Okonjarova; her son called. She was at home",
    "Mr Okonjarova (NHS 943 476 5919)",
    "lot AB123, box of Ada Okonjarova, okonjarova@mail.invalid",
)
"""What people write into a field that is for something else; each has a name or a number of a person."""
TOLD = (b"Okonjarova", b"okonjarova", b"4471922", b"5550147823", b"014 7823", b"476 5919")
TEXT, TAIL = "text()", "tail()"


@dataclass(frozen=True)
class Spot:
    """A place of a message: which XML element, which slot, and its path without positions."""

    index: int
    slot: str
    path: str

    @property
    def name(self) -> str:
        return f"{self.path}/{self.slot}"


def sample(dialect: str) -> bytes:
    """An invented message with every known element."""
    message = invent(dialect)
    return message.data if dialect == "r3" else f"{R2_DOCTYPE}\n{message.xml}".encode()


class Planter:
    """Puts a canary into one spot of a message after the other."""

    def __init__(self, data: bytes, dialect: Dialect) -> None:
        parser = etree.XMLParser(remove_comments=True, remove_pis=True, load_dtd=False, no_network=True)
        self._tree = etree.parse(io.BytesIO(data), parser)
        self._nodes = list(self._tree.iter())
        self._named = self._named_slots(dialect)

    def element_of(self, spot: Spot) -> str:
        """Id of the E2B element whose value stands there, "" = none that is known."""
        return self._named.get((self._nodes[spot.index], spot.slot), "")

    def with_all_tails(self, canary: str) -> bytes:
        """The message with a canary behind every element of a case."""
        cases = {"PORR_IN049016UV", "safetyreport"}
        inside = [n for n in self._nodes if cases & {etree.QName(a).localname for a in n.iterancestors()}]
        before = [self._set(node, TAIL, canary) for node in inside]
        data = etree.tostring(self._tree, encoding="UTF-8", xml_declaration=True)
        for node, tail in zip(inside, before, strict=True):
            self._set(node, TAIL, tail)
        return data

    def _named_slots(self, dialect: Dialect) -> dict[tuple[etree._Element, str], str]:
        named: dict[tuple[etree._Element, str], str] = {}
        for part in self._tree.getroot():
            is_case = etree.QName(part).localname in ("PORR_IN049016UV", "safetyreport")
            for element in elements_in(dialect, batch=not is_case):
                place = element.places[dialect]
                for node in place.nodes(part):
                    named.setdefault((node, place.attribute or TEXT), element.id)
        return named

    def spots(self) -> list[Spot]:
        """Every place, each path with the attributes that tell it from its likes once."""
        seen: dict[tuple[str, str], Spot] = {}
        for index, node in enumerate(self._nodes):
            path = self._path(node)
            for slot in self._slots(node):
                seen.setdefault((path, slot), Spot(index, slot, path))
        return list(seen.values())

    def planted(self, spot: Spot, canary: str) -> bytes:
        """The message with a canary in one place."""
        node = self._nodes[spot.index]
        before = self._set(node, spot.slot, canary)
        data = etree.tostring(self._tree, encoding="UTF-8", xml_declaration=True)
        self._set(node, spot.slot, before)
        return data

    def _path(self, node: etree._Element) -> str:
        above = [node, *node.iterancestors()]
        steps = [re.sub(r"\{.*\}", "", str(n.tag)) + self._told_by(n) for n in reversed(above)]
        return "/".join(steps)

    def _told_by(self, node: etree._Element) -> str:
        code = next((c for c in node if etree.QName(c).localname == "code"), None)
        return "" if code is None or not code.get("code") else f"[{code.get('code')}]"

    def _slots(self, node: etree._Element) -> Iterator[str]:
        yield TEXT
        if node.getparent() is not None:
            yield TAIL
        yield from map(str, node.attrib)

    def _set(self, node: etree._Element, slot: str, value: str | None) -> str | None:
        if slot == TEXT:
            before, node.text = node.text, value
        elif slot == TAIL:
            before, node.tail = node.tail, value
        else:
            before = node.get(slot)
            node.set(slot, value or "")
        return before


def is_left(data: bytes, canary: str, profile: Profile) -> bool:
    """Whether a canary is still found in what is written under a profile; a refused message writes nothing."""
    return canary.encode() in written_under(data, profile)


def written_under(data: bytes, profile: Profile) -> bytes:
    """What is written under a profile, nothing if the message is refused."""
    try:
        return masked_file(data, profile, mark_texts)[0]
    except (InputError, StageError):
        return b""
