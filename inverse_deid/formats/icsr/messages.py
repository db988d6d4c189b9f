"""Messages read case by case, in constant memory.

The parser fetches nothing, loads no DTD and expands no entity; its limits stay on. In addition, a case may
not be too large or too deep. A fault in one case affects only that case. Broken XML ends the file: the cases
before it are read, the rest is reported.

Source: XML 1.0; ICH E2B(R3) implementation guide, appendix I (batch and message wrappers);
ICH ICSR DTD 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple, cast

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import _
from inverse_deid.formats.icsr.cases import Case, case_from
from inverse_deid.formats.icsr.prolog import Prolog, read_prolog, release_doctype
from inverse_deid.formats.icsr.standard.dialects import (
    R2,
    R3,
    MessageDialect,
    StringRole,
    remove_keeping_tail,
)
from inverse_deid.formats.icsr.standard.elements import HL7
from inverse_deid.formats.icsr.standard.vocabulary import XSI_NAMESPACE, is_known_namespace, release_location
from inverse_deid.formats.icsr.writing import Frame
from inverse_deid.formats.records import MAX_RECORD_BYTES

_ENCODING_ERRORS = frozenset({"ERR_INVALID_ENCODING", "ERR_ENCODING_NAME", "ERR_UNKNOWN_ENCODING"})
_ENTITY_ERRORS = frozenset({"ERR_UNDECLARED_ENTITY", "WAR_UNDECLARED_ENTITY", "ERR_ENTITY_LOOP"})
_LIMIT_ERRORS = frozenset({"ERR_RESOURCE_LIMIT"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one case."""

    max_case_bytes: int = MAX_RECORD_BYTES  # bytes of its XML
    max_depth: int = 100  # elements inside one another


@dataclass(frozen=True, slots=True)
class BrokenCase:
    """A case that could not be read."""

    number: int  # which case of the file, from 1; 0 = something around the cases
    reason: str


@dataclass(slots=True)
class Stripped:
    """Counts of what was left out while reading because it is neither element nor value."""

    n_comments: int = 0
    n_instructions: int = 0
    n_attributes: int = 0  # attributes of the outermost element that are not structure
    n_stray_texts: int = 0  # texts between the parts of a batch
    n_locations: int = 0  # schema locations and document types that were cut to a base name or left out


class _Meter:
    """A stream that counts the bytes read; begins with the bytes that were read before."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream
        self.n_bytes = 0

    def read(self, n_bytes: int) -> bytes:
        data, self._head = self._head[:n_bytes], self._head[n_bytes:]
        if not data:
            data = self._stream.read(n_bytes)
        self.n_bytes += len(data)
        return data


class _Open(NamedTuple):
    node: etree._Element
    start: int


class Message:
    """An open E2B message; `parts` can be run through once.

    Raises:
        FormatError: Not XML, not E2B, or with declarations of entities.
        UnreadableInputError: Empty, or of an encoding that is not read or not the declared one.
    """

    def __init__(self, stream: BinaryIO, limits: Limits | None = None) -> None:
        prolog = read_prolog(stream)
        self._limits = limits or Limits()
        self._meter = _Meter(prolog.head, stream)
        self._events = _events(self._meter)
        self.stripped = Stripped()
        self._depth = 0
        self._n_cases = 0
        self._open: _Open | None = None
        self._problem = ""
        self._finished: tuple[etree._Element, str] | None = None
        self._comments: list[etree._Element] = []
        self._failure: FormatError | None = None
        self._root = self._read_root(prolog)
        self._level = 1 if self._root.tag in (R3().case_tag, R2().case_tag) else 2
        self.frame = self._read_frame(prolog)

    def parts(self) -> Iterator[Case | BrokenCase]:
        """Yield the cases and the parts around them, in the order of the file."""
        while self._failure is None:
            try:
                event = next(self._events, None)
            except etree.XMLSyntaxError:
                self._failure = _broken(self._events, self.frame.prolog)
                break
            if event is None:
                break
            if self._take(*event):
                yield from self._finish()
        yield from self._finish()
        if self._failure is not None:
            is_in_case = self._open is not None and self._open.node.tag == self.frame.dialect.case_tag
            yield BrokenCase(self._n_cases + 1 if is_in_case else 0, str(self._failure))

    def _read_root(self, prolog: Prolog) -> etree._Element:
        problem: FormatError | None = None
        try:
            for event, node in cast(Iterator[tuple[str, etree._Element]], self._events):
                if event == "start":
                    self._depth = 1
                    return node
                self._count(event)
        except etree.XMLSyntaxError:
            problem = _broken(self._events, prolog)
        raise problem or FormatError(_("has no element. Give an E2B file"))

    def _read_frame(self, prolog: Prolog) -> Frame:
        root = self._root
        dialect = _dialect(str(root.tag))
        if prolog.doctype and dialect.name == "r3":
            raise FormatError(_("E2B(R3) has no document type declaration. Delete <!DOCTYPE ...>"))
        if not is_known_namespace(root.prefix, HL7):
            raise FormatError(
                _("has an unusual prefix for its namespace. Export it without a prefix, or with hl7")
            )
        self._cut_location(root)
        is_single = root.tag == dialect.case_tag
        attributes = tuple((str(k), str(v)) for k, v in root.attrib.items())
        if is_single:
            self._open = _Open(root, 0)
        else:
            n_before = len(attributes)
            attributes = tuple(
                (k, v) for k, v in attributes if dialect.role_of_attribute(root, k, v) == StringRole.STRUCTURE
            )
            self.stripped.n_attributes = n_before - len(attributes)
            self._read_to_first_part(prolog)
        lead = "" if is_single else self._white((root.text or "") + _tails(next(iter(root), None)))
        namespaces = {p: uri for p, uri in root.nsmap.items() if is_single or is_known_namespace(p, uri)}
        doctype = release_doctype(prolog.doctype, str(root.tag))
        self.stripped.n_locations += doctype != prolog.doctype
        prolog = replace(prolog, doctype=doctype)
        return Frame(prolog, dialect, str(root.tag), attributes, namespaces, lead, is_single)

    def _cut_location(self, root: etree._Element) -> None:
        # The rest of the schema location is a path of the sender's machine.
        name = f"{{{XSI_NAMESPACE}}}schemaLocation"
        old = root.get(name)
        if old is None:
            return
        new = release_location(old)
        self.stripped.n_locations += new != old
        if new:
            root.set(name, new)
        else:
            del root.attrib[name]

    def _read_to_first_part(self, prolog: Prolog) -> None:
        try:
            for event, node in self._events:
                self._take(event, node)
                if event in ("start", "end"):
                    return
        except etree.XMLSyntaxError:
            self._failure = _broken(self._events, prolog)

    def _take(self, event: str, node: etree._Element) -> bool:
        # True = a part that was finished can be given out.
        level = self._level
        if event == "start":
            self._depth += 1
            if self._depth == level:
                self._open = _Open(node, self._meter.n_bytes)
            self._check_limits()
            return self._depth == level
        if event == "end":
            self._depth -= 1
            if self._problem and self._depth >= level:
                _forget(node)
            if self._depth == level - 1 and self._open is not None:
                self._finished, self._open = (node, self._problem), None
                self._problem = ""
            return self._depth == 0
        self._count(event)
        if self._open is not None and not self._problem:
            self._comments.append(node)
        return False

    def _check_limits(self) -> None:
        if self._open is None or self._problem:
            return
        if self._depth > self._limits.max_depth:
            self._problem = _("is nested deeper than {max_depth} elements", max_depth=self._limits.max_depth)
        elif self._meter.n_bytes - self._open.start > self._limits.max_case_bytes:
            limit = self._limits.max_case_bytes // 2**20
            self._problem = _("is larger than {limit} MiB", limit=limit)
        if self._problem:
            self._comments.clear()

    def _count(self, event: str) -> None:
        if event == "comment":
            self.stripped.n_comments += 1
        elif event == "pi":
            self.stripped.n_instructions += 1

    def _finish(self) -> Iterator[Case | BrokenCase]:
        if self._finished is None:
            return
        (node, problem), self._finished = self._finished, None
        is_case = node.tag == self.frame.dialect.case_tag
        self._n_cases += is_case
        number = self._n_cases if is_case else 0
        tail = self._detach(node)
        case: Case | None = None
        try:
            case = None if problem else case_from(number, node, tail, self.frame.dialect)
        except FormatError as error:
            problem = str(error)
        yield BrokenCase(number, problem) if case is None else case

    def _detach(self, node: etree._Element) -> str:
        for comment in self._comments:
            remove_keeping_tail(comment)
        self._comments.clear()
        if self.frame.is_single:
            return ""
        tail = self._white((node.tail or "") + _tails(node.getnext()))
        root = self._root
        while len(root) and root[0] is not node:
            del root[0]
        while len(root) > 1 and not _is_element(root[1]):
            del root[1]
        node.tail = None
        root.remove(node)
        return tail

    def _white(self, text: str) -> str:
        if not text or text.isspace():
            return text
        self.stripped.n_stray_texts += 1
        return "\n"


def _events(meter: _Meter) -> etree.iterparse:
    return etree.iterparse(
        meter,
        events=("start", "end", "comment", "pi"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        attribute_defaults=False,
        dtd_validation=False,
        huge_tree=False,
    )


def _dialect(tag: str) -> MessageDialect:
    dialects: tuple[MessageDialect, ...] = (R3(), R2())
    for dialect in dialects:
        if tag in (dialect.root_tag, dialect.case_tag):
            return dialect
    raise FormatError(
        _(
            "is not an E2B message: its outermost element must be MCCI_IN200100UV01 or PORR_IN049016UV "
            "of urn:hl7-org:v3 (R3), or ichicsr or safetyreport (R2)"
        )
    )


def _tails(node: etree._Element | None) -> str:
    text = ""
    while node is not None and not _is_element(node):
        text += node.tail or ""
        node = node.getnext()
    return text


def _is_element(node: etree._Element) -> bool:
    tag: object = node.tag
    return isinstance(tag, str)


def _forget(node: etree._Element) -> None:
    # Free what has been read of a part that is left out.
    node.clear()
    parent = node.getparent()
    while parent is not None and node.getprevious() is not None:
        del parent[0]


def _broken(events: etree.iterparse, prolog: Prolog) -> FormatError:
    # The message of the parser may quote the file and is dropped.
    fatal = next((entry for entry in events.error_log if entry.level_name != "WARNING"), None)
    name = "" if fatal is None else fatal.type_name
    where = _("at line {line}", line=1 if fatal is None else fatal.line)
    if name in _ENTITY_ERRORS:
        return FormatError(_("contains an entity reference {where}. Write the character itself", where=where))
    if name in _ENCODING_ERRORS:
        codec = prolog.codec
        return FormatError(
            _(
                "is not {codec} text {where}, although it declares that. Save it in the declared encoding",
                codec=codec,
                where=where,
            )
        )
    if name in _LIMIT_ERRORS:
        return FormatError(
            _("is nested too deeply or has too long a text {where}. Split or correct it", where=where)
        )
    return FormatError(_("is broken XML {where}. Correct it there or export the file again", where=where))
