"""Web pages (.html, .htm): masked text over a list of elements, in a new page (docs/office-files.md).

The page is built from a list: an element is written if it is on the list, without its attributes. Text is
written from the masked text alone. Words that elements within a line split are one word.

Source: HTML Living Standard, sections 13.2.3.2 (encodings) and 15.3 (how elements are shown).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import BinaryIO

from lxml import etree

from inverse_deid.core.errors import ConfigurationError, FormatError, UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.encodings import TextCodec, decode, detect_codec, find_codec, normal_encoding
from inverse_deid.formats.masked_slots import fill_slots, list_pieces
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import Format, ReadOptions

_INLINE = frozenset(["b", "strong", "i", "em", "u", "s", "small", "sub", "sup", "code", "cite", "mark"])
_BLOCKS = frozenset(
    "p div h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre table caption thead tbody tfoot tr".split()  # noqa: SIM905
)
_CELLS = frozenset(["td", "th"])
_VOID = frozenset(["br", "hr"])
_STRUCTURE = frozenset(["table", "thead", "tbody", "tfoot", "tr", "ul", "ol", "dl", "html"])
"""Elements in which white space means nothing."""
_BREAKING = frozenset(
    "address article aside body center details fieldset figcaption figure footer form header html legend "  # noqa: SIM905
    "main nav section summary".split()
)
"""Elements that are not written, but whose text is on lines of its own."""
_COMMENT = "#comment"
_REMOVED = {
    _COMMENT: "comment",
    "head": "",
    "script": "script",
    "style": "style",
    "template": "template",
    "iframe": "embedded page",
    "object": "embedded object",
    "applet": "embedded object",
    "svg": "image",
    "math": "formula",
    "img": "image",
    "canvas": "image",
    "map": "image",
    "audio": "sound",
    "video": "video",
    "input": "form field",
    "select": "form field",
    "textarea": "form field",
    "button": "form field",
    "datalist": "form field",
    "link": "link",
    "meta": "property",
    "base": "link",
    "title": "title",
}
"""Elements that are not written, nor anything in them, and what they are called."""
_UNKNOWN_VOID = {"embed": "embedded object"}
"""Elements that have nothing in them, but that the parser closes late."""

_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Masked document</title></head>\n'
    "<body>\n"
)
_META = re.compile(rb"<meta[^>]{0,1000}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_META_BYTES = 4096
_LATIN = frozenset(["ascii", "iso8859-1"])
_SPACES = re.compile(r"[ \t\n\r\f]+")
_DEFAULT_ENCODING = "utf-8"


@dataclass(slots=True)
class _Page:
    """The new page: markup, and between it slots for the masked text."""

    pieces: list[str | int] = field(default_factory=list, repr=False)  # markup, or the number of a slot
    slots: list[tuple[int, str]] = field(default_factory=list, repr=False)  # offset in the text, and text
    text: list[str] = field(default_factory=list, repr=False)
    n_chars: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    _last: str = field(default="\n", repr=False)  # the last character of the text
    _is_line_due: bool = False

    def add_text(self, shown: str, *, is_kept: bool) -> None:
        """Add text of the page; white space is one space unless it is kept."""
        if not is_kept:
            shown = _SPACES.sub(" ", shown)
            if self._is_line_due or self._last in " \n\t":
                shown = shown.removeprefix(" ")
        if not shown:
            return
        if self._is_line_due and self._last not in "\n\t":
            self.add_layout("\n")
        self.pieces.append(len(self.slots))
        self.slots.append((self.n_chars, shown))
        self.add_layout(shown)

    def add_layout(self, shown: str) -> None:
        """Add what stays: the end of a line or a tab."""
        self.text.append(shown)
        self.n_chars += len(shown)
        self._last = shown[-1]
        self._is_line_due = False

    def end_line(self) -> None:
        """Begin a line with the next text."""
        self._is_line_due = True

    def note(self, kind: str) -> None:
        """Count a part that is not written, "" = nothing."""
        if kind:
            self.removed[kind] = self.removed.get(kind, 0) + 1

    def add_element(self, node: etree._Element, *, is_kept: bool = False) -> None:
        """Add an element and all in it."""
        tag = _name_of(node)
        if tag in _REMOVED:
            for one in node.iter():
                self.note(_REMOVED.get(_name_of(one), ""))
            return
        self.note(_UNKNOWN_VOID.get(tag, ""))
        is_line = tag in _BLOCKS or tag in _BREAKING
        if is_line:
            self.end_line()
        elif tag in _CELLS and any(one.tag in _CELLS for one in node.itersiblings(preceding=True)):
            self.add_layout("\t")
        is_written = tag in _INLINE or tag in _BLOCKS or tag in _CELLS or tag in _VOID
        if is_written:
            self.pieces.append(f"<{tag}{self._read_attributes(node) if tag in _CELLS else ''}>")
        if tag == "br":
            self.add_layout("\n")
        is_kept = is_kept or tag == "pre"
        self._add_text_of(node, node.text, is_kept=is_kept)
        for child in node:
            self.add_element(child, is_kept=is_kept)
            self._add_text_of(node, child.tail, is_kept=is_kept)
        if is_written and tag not in _VOID:
            self.pieces.append(f"</{tag}>")
        if is_line or tag == "hr":
            self.end_line()

    def _add_text_of(self, node: etree._Element, text: str | None, *, is_kept: bool) -> None:
        if text and (node.tag not in _STRUCTURE or text.strip()):
            self.add_text(text, is_kept=is_kept)

    def _read_attributes(self, cell: etree._Element) -> str:
        """Return how many columns and rows a cell has, as attributes."""
        found = {name: cell.get(name, "") for name in ("colspan", "rowspan")}
        numbers = {
            name: int(value) for name, value in found.items() if re.fullmatch("[1-9][0-9]{0,2}", value)
        }
        return "".join(f' {name}="{number}"' for name, number in numbers.items())


def read_html(
    stream: BinaryIO, options: ReadOptions, name: str, *, may_be_empty: bool = False
) -> RebuiltFile:
    """Open a web page.

    Args:
        stream: Its bytes.
        options: How to read it.
        name: Of the page, the id of its text.
        may_be_empty: A page without text is no error, as in an e-mail.

    Raises:
        FormatError: Not HTML, or nested too deeply, or without text.
        UnreadableInputError: Empty, too large, or in an encoding that is not found out.

    Example:
        >>> import io
        >>> file = io.BytesIO(b"<p>Seen by Dr. Am<b>ara</b></p>")
        >>> [record.doc.text for record in read_html(file, ReadOptions(), "a.html").records()]
        ['Seen by Dr. Amara']
    """
    data = read_whole(stream)
    codec, found = _find_codec(data, options)
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
    root = None
    with suppress(etree.XMLSyntaxError, ValueError):
        root = etree.fromstring(decode(data[len(codec.mark) :], codec).encode(), parser)
    if root is None:
        raise FormatError("is not a web page or is damaged. Open it in a browser and save it again")
    if any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        # The parser drops what is nested more deeply than 256 elements.
        raise FormatError("has elements that are nested too deeply. Save its text in a browser")
    page = _Page()
    for node in (*root.itersiblings(preceding=True), root):
        page.add_element(node)
        _count_attributes(node, page)
    for node in root.itersiblings():  # what follows the end of the page, as in a forwarded e-mail
        page.pieces.append("<div>")
        page.add_element(node)
        page.pieces.append("</div>")
        _count_attributes(node, page)
    text = "".join(page.text)
    if not text.strip() and not may_be_empty:
        raise FormatError("has no text. Save the page in a browser when it is shown completely")

    def build(masked: MaskedDocument) -> bytes:
        filled = fill_slots(page.slots, list_pieces(text, masked))
        shown = (piece if isinstance(piece, str) else escape(filled[piece]) for piece in page.pieces)
        return f"{_HEAD}{''.join(shown)}</body>\n</html>\n".encode("utf-8", "replace")

    read_as = {found: 1} if found else {}
    return RebuiltFile(Document(name, text), build, dict(sorted(page.removed.items())), read_as=read_as)


def _name_of(node: etree._Element) -> str:
    """Return the name of an element, `#comment` for comments and instructions."""
    tag: object = node.tag  # a function for what is not an element
    return tag.lower() if isinstance(tag, str) else _COMMENT


def _count_attributes(root: etree._Element, page: _Page) -> None:
    """Count the attributes that are not written: targets of links, and others."""
    for node in root.iter(etree.Element):
        for name in node.attrib:
            if name == "href":
                page.note("link target")
            elif name not in ("colspan", "rowspan"):
                page.note("attribute")


def _find_codec(data: bytes, options: ReadOptions) -> tuple[TextCodec, str]:
    """Return the encoding of a page and how it is known.

    It is that of the byte-order mark, of `--encoding`, or what the page says. Else it is found out.

    Returns:
        The encoding, and what was found out, in words; "" = nothing.

    Raises:
        UnreadableInputError: Binary, or several encodings are possible.
    """
    for family in ("utf-8", "utf-16", "utf-32"):
        with suppress(UnreadableInputError):
            codec = detect_codec(data[:4], family)
            if codec.mark:
                return codec, ""
    said = _META.search(data[:_META_BYTES])
    name = "" if options.encoding is None else normal_encoding(options.encoding)
    if not name and said is not None:
        with suppress(ConfigurationError):
            name = normal_encoding(said[1].decode("ascii"))
        if name.startswith(("utf-16", "utf-32")):  # no page that can be searched for the name is that
            name = _DEFAULT_ENCODING
    codec = TextCodec("cp1252" if name in _LATIN else name)
    if options.encoding is not None:
        return codec, ""
    with suppress(LookupError, UnreadableInputError):
        decode(data, codec)
        return codec, ""
    return find_codec(data, finds_out=options.finds_out)


FORMAT = Format(
    name="html",
    open=read_html,
    suffixes=(".html", ".htm"),
    is_single_document=True,
    can_be_piped=False,
    can_be_revealed=False,
)
