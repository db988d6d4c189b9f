"""Web pages (.html, .htm): masked text over a list of elements, in a new page (docs/office-files.md).

The page is built from a list: an element is written if it is on the list, without its attributes. Text is
written from the masked text alone. Words that elements within a line split are one word. Form fields become
text, as in PDF files.

Source: HTML Living Standard, sections 13.2.3.2 (encodings) and 15.3 (how elements are shown).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import BinaryIO

from lxml import etree

from inverse_deid.core.errors import ConfigurationError, FormatError, UnreadableInputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
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
_ROWS = frozenset(["tr"])
_VOID = frozenset(["br", "hr"])
_SPAN = re.compile(r"[ \t\n\f\r]*\+?0*([0-9]{1,9})")
_MAX_SPANS = {"colspan": 1000, "rowspan": 65534}
_MAX_COLUMNS = 100
"""In the text, cells in columns after these are not told apart from those before."""
_MAX_INDENT = 30
"""Lines of cells in columns after these begin here."""
_STRUCTURE = frozenset(["table", "thead", "tbody", "tfoot", "tr", "ul", "ol", "dl", "html"])
"""Elements in which white space means nothing."""
_BREAKING = frozenset(
    "address article aside body center details dialog dir fieldset figcaption figure footer "  # noqa: SIM905
    "form head header hgroup html legend listing main menu nav noframes plaintext search section "
    "summary xmp".split()
)
"""Elements whose text is on lines of its own. They are written as `div`."""
_PAGE = frozenset(["html", "head", "body"])
_WRITTEN = _INLINE | _BLOCKS | _CELLS | _VOID
_COMMENT = "#comment"
_REMOVED = {
    _COMMENT: "comment",
    "script": "script",
    "style": "style",
    "template": "template",
    "iframe": N_("embedded page"),
    "frame": N_("embedded page"),
    "object": N_("embedded object"),
    "applet": N_("embedded object"),
    "img": "image",
    "canvas": "image",
    "audio": "sound",
    "video": "video",
    "datalist": N_("list of suggestions"),
    "link": "link",
    "meta": "property",
    "base": "link",
    "title": "title",
}
"""Elements that are not written, nor anything in them, and what they are called."""
_BOXES = frozenset(["checkbox", "radio"])
_UNSEEN_INPUTS = frozenset(["hidden", "password", "file", "image"])
_BETWEEN = {"mfrac": "/", "msup": "^", "msub": "_"}
"""What is between the parts of a formula, so that 10 to the power of 9 does not become 109."""
_COUNTED_ATTRIBUTES = {"href": N_("link target"), "alt": N_("alternative text"), "title": "tooltip"}
_READ_ATTRIBUTES = frozenset(["colspan", "rowspan", "checked", "selected"])
_UNKNOWN_VOID = {"embed": N_("embedded object")}
"""Elements that have nothing in them, but that the parser closes late."""

_HEAD = (
    '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Masked document</title></head>\n'
    "<body>\n"
)
_META = re.compile(rb"<meta[^>]{0,1000}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,1000}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})")
_META_BYTES = 4096
_LATIN = frozenset(["ascii", "iso8859-1"])
_SPACES = re.compile(r"[ \t\n\r\f]+")
_OPTIONAL_HYPHEN = "\u00ad"
_END = "end-of-page"
"""Added as a comment: without it among the elements, a tag without end has the rest of the page."""
_END_TAG_WORDS = re.compile(rb"</[A-Za-z][^\s<>]{0,100}\s[^<>]{0,1000}\w")
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
    _is_row_due: bool = False  # a line is due, also after a tab
    _tabs: dict[etree._Element, int] = field(default_factory=dict, repr=False)  # before each cell of a table
    _columns: dict[etree._Element, int] = field(default_factory=dict, repr=False)  # of each cell
    _indent: int = 0  # of lines in a cell, in tabs: they begin in its column
    _is_in_cell: bool = False
    _n_breaks: int = 0  # that are due in a cell; those at its end show nothing
    _first_rows: set[etree._Element] = field(default_factory=set, repr=False)  # of each table
    _is_space_due: bool = False

    def add_text(self, shown: str, *, is_kept: bool) -> None:
        # White space is one space unless it is kept, optional hyphens are left out.
        shown = shown.replace(_OPTIONAL_HYPHEN, "")
        if not is_kept:
            shown = _SPACES.sub(" ", shown)
            if self._is_line_due or self._n_breaks or self._last in " \n\t":
                shown = shown.removeprefix(" ")
        if not shown:
            return
        self._begin_due_line()
        if self._is_space_due and not (shown + self._last).isspace() and not shown[0].isspace():
            self.add_sign(" ")
        self.pieces.append(len(self.slots))
        self.slots.append((self.n_chars, shown))
        self.add_layout(shown)

    def add_layout(self, shown: str) -> None:
        self.text.append(shown)
        self.n_chars += len(shown)
        self._last = shown[-1]
        self._is_line_due = self._is_row_due = self._is_space_due = False

    def _begin_due_line(self) -> None:
        is_due = self._is_row_due or (self._is_line_due and self._last != "\t")
        n_lines = self._n_breaks or int(is_due and self._last != "\n")
        self._n_breaks = 0
        if n_lines:
            self.add_layout(("\n" + "\t" * self._indent) * n_lines)

    def add_sign(self, sign: str) -> None:
        # Spaces are not doubled.
        if not (sign + self._last).isspace():
            self.pieces.append(sign)
            self.add_layout(sign)

    def end_line(self) -> None:
        self._is_line_due = True

    def note(self, kind: str, n: int = 1) -> None:
        if kind and n:
            self.removed[kind] = self.removed.get(kind, 0) + n

    def add_element(self, node: etree._Element, *, is_kept: bool = False) -> None:
        tag = _name_of(node)
        if tag in _REMOVED:
            for one in node.iter():
                self.note("" if one.text == _END else _REMOVED.get(_name_of(one), ""))
            return
        self.note(_UNKNOWN_VOID.get(tag, ""))
        if tag in _ADDERS:
            _ADDERS[tag](self, node)
            return
        self._begin_place(node, tag)
        was_row_due, n_chars = self._is_row_due, self.n_chars
        written = "div" if tag in _BREAKING - _PAGE else tag if tag in _WRITTEN else ""
        if written:
            self.pieces.append(f"<{written}{self._read_attributes(node) if tag in _CELLS else ''}>")
        if tag == "br":
            self._add_break()
        elif tag in _CELLS:
            self._add_cell(node, is_kept=is_kept)
        else:
            self._add_content(node, tag, is_kept=is_kept or tag == "pre")
        if written and tag not in _VOID:
            self.pieces.append(f"</{written}>")
        if tag in _BLOCKS or tag in _BREAKING or tag == "hr":
            self.end_line()
        if tag in _CELLS:
            self._is_row_due = was_row_due and n_chars == self.n_chars  # a table in the cell ended a row
        self._is_row_due |= tag == "tr"

    def _add_break(self) -> None:
        if self._is_in_cell:
            self._n_breaks += 1
        else:
            self.add_layout("\n")

    def _add_cell(self, cell: etree._Element, *, is_kept: bool) -> None:
        # Its lines begin in its column.
        outer = self._is_in_cell, self._indent
        self._is_in_cell = True
        self._indent = min(self._indent + self._columns.get(cell, 0), _MAX_INDENT)
        self._add_content(cell, "td", is_kept=is_kept)
        self._is_in_cell, self._indent = outer
        self._n_breaks = 0

    def _begin_place(self, node: etree._Element, tag: str) -> None:
        if tag in _BLOCKS or tag in _BREAKING:
            self.end_line()
        if tag == "table":
            _count_tabs(node, self._tabs, self._columns)
            self._first_rows.update(islice(_find_own(node, _ROWS), 1))
        elif tag == "tr":
            self._is_row_due |= self._last != "\t" or node not in self._first_rows
        elif tag in _CELLS:
            has_cell_before = any(one.tag in _CELLS for one in node.itersiblings(preceding=True))
            n_tabs = self._tabs.get(node, int(has_cell_before))
            if n_tabs and (self._is_row_due or not has_cell_before):
                self._begin_due_line()
            if n_tabs:
                self.add_layout("\t" * n_tabs)

    def _add_content(self, node: etree._Element, tag: str, *, is_kept: bool) -> None:
        self._add_text_of(node, node.text, is_kept=is_kept)
        for number, child in enumerate(node):
            if number and tag in _BETWEEN:
                self.add_sign(_BETWEEN[tag])
            self.add_element(child, is_kept=is_kept)
            self._add_text_of(node, child.tail, is_kept=is_kept)

    def _add_input(self, node: etree._Element) -> None:
        # Its value, or whether its box is checked.
        kind = node.get("type", "").strip().lower()
        if kind in _BOXES:
            self._add_value("[x]" if "checked" in node.attrib else "[ ]")
        elif kind in _UNSEEN_INPUTS:
            self.note(N_("form field"))
        else:
            self._add_value(node.get("value", ""))

    def _add_select(self, node: etree._Element) -> None:
        options = list(node.iter("option"))
        chosen = [one for one in options if "selected" in one.attrib]
        if not chosen and "multiple" not in node.attrib:
            chosen = options[:1]
        for one in chosen:
            self._add_value(one.get("label") or _text_in(one))
        for _ignored in range(len(options) - len(chosen)):
            self.note(N_("choice that was not selected"))

    def _add_button(self, node: etree._Element) -> None:
        self._add_value(_text_in(node))

    def _add_textarea(self, node: etree._Element) -> None:
        self.end_line()
        self.pieces.append("<pre>")
        self.add_text(_text_in(node).removeprefix("\n"), is_kept=True)
        self.pieces.append("</pre>")
        self.end_line()

    def _add_drawing(self, node: etree._Element) -> None:
        self.note("image")
        for label in node.iter(etree.Element):
            if _name_of(label) in ("text", "foreignobject"):
                self.end_line()
                self.pieces.append("<p>")
                self.add_text(_text_in(label), is_kept=False)
                self.pieces.append("</p>")
                self.end_line()
            else:
                self.note(_REMOVED.get(_name_of(label), ""))

    def _add_value(self, value: str) -> None:
        if value.strip():
            self._is_space_due = not self._is_line_due
            self.add_text(value.strip(), is_kept=False)
            self._is_space_due = True

    def _add_text_of(self, node: etree._Element, text: str | None, *, is_kept: bool) -> None:
        if text and (node.tag not in _STRUCTURE or text.strip()):
            self.add_text(text, is_kept=is_kept)

    def _read_attributes(self, cell: etree._Element) -> str:
        numbers = {name: _read_span(cell, name) for name in _MAX_SPANS}
        return "".join(f' {name}="{number}"' for name, number in numbers.items() if number != 1)


_ADDERS: dict[str, Callable[[_Page, etree._Element], None]] = {
    "input": _Page._add_input,
    "select": _Page._add_select,
    "button": _Page._add_button,
    "textarea": _Page._add_textarea,
    "svg": _Page._add_drawing,
}


def read_html(
    stream: BinaryIO, options: ReadOptions, name: str, *, may_be_empty: bool = False
) -> RebuiltFile:
    """Open a web page.

    Args:
        stream: Its bytes.
        options: How to read it.
        name: Of the page, the id of its text.
        may_be_empty: A page without text is allowed, as in an e-mail.

    Raises:
        FormatError: Not HTML, or nested too deeply, or without text.
        UnreadableInputError: Empty, too large, or in an encoding that is not found out.
    """
    data = read_whole(stream)
    codec, found = find_page_codec(data, options)
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
    root, shown = None, b""
    with suppress(etree.XMLSyntaxError, ValueError):
        shown = decode(data[len(codec.mark) :], codec).encode()
        root = etree.fromstring(shown + f"<!--{_END}-->".encode(), parser)
    if root is None:
        raise FormatError(_("is not a web page or is damaged. Open it in a browser and save it again"))
    if any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        # The parser drops what is nested more deeply than 256 elements.
        raise FormatError(_("has elements that are nested too deeply. Save its text in a browser"))
    page = _Page()
    page.note("" if _take_out_end(root) else N_("text in a tag without end"))
    page.note("attribute", len(_END_TAG_WORDS.findall(shown)))
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
        raise FormatError(_("has no text. Save the page in a browser when it is shown completely"))

    def build(masked: MaskedDocument) -> bytes:
        filled = fill_slots(page.slots, list_pieces(text, masked))
        shown = (piece if isinstance(piece, str) else escape(filled[piece]) for piece in page.pieces)
        return f"{_HEAD}{''.join(shown)}</body>\n</html>\n".encode("utf-8", "replace")

    read_as = {found: 1} if found else {}
    return RebuiltFile(Document(name, text), build, dict(sorted(page.removed.items())), read_as=read_as)


def _take_out_end(root: etree._Element) -> bool:
    # False = a tag without end has it.
    last = [root, *root.itersiblings()][-1]
    while len(last):
        last = last[-1]
    text = last.text or ""
    if not isinstance(last, etree._Comment):
        last.text = text.removesuffix(f"<!--{_END}-->")
    return text.endswith((_END, f"{_END}-->", f"{_END}--"))


def _count_tabs(
    table: etree._Element, tabs: dict[etree._Element, int], columns: dict[etree._Element, int]
) -> None:
    """Note the column of each cell of a table, and how many tabs are before it: its distance from the last.

    Source: HTML Living Standard, section 4.9.12.1 (forming a table).
    """
    rows = list(_find_own(table, _ROWS))
    covered: dict[int, int] = {}  # by column, how many of the next rows a cell of a row above covers
    group = None
    for row in rows:
        if row.getparent() is not group:
            covered, group = {}, row.getparent()
        column = before = 0
        below: dict[int, int] = {}
        for n, cell in enumerate(_find_own(row, _CELLS)):
            while column < _MAX_COLUMNS and covered.get(column):
                column += 1
            tabs[cell] = max(column - before, int(n > 0))
            before = columns[cell] = column
            column = min(column + _read_span(cell, "colspan"), _MAX_COLUMNS)
            n_rows = _read_span(cell, "rowspan") or len(rows)
            below |= dict.fromkeys(range(before, column), n_rows - 1)
        covered = {i: n - 1 for i, n in covered.items() if n > 1} | {i: n for i, n in below.items() if n}


def _find_own(node: etree._Element, tags: frozenset[str]) -> Iterator[etree._Element]:
    # None that are in a table or cell in it.
    for child in node:
        name = _name_of(child)
        if name in tags:
            yield child
        elif name not in _CELLS and name not in _REMOVED and name != "table":
            yield from _find_own(child, tags)


def _read_span(cell: etree._Element, name: str) -> int:
    # 0 = all rows of its group.
    number = _SPAN.match(cell.get(name, ""))
    found = 1 if number is None else min(int(number[1]), _MAX_SPANS[name])
    return max(found, int(name == "colspan"))


def _name_of(node: etree._Element) -> str:
    # `#comment` = comments and instructions.
    tag: object = node.tag  # a function for what is not an element
    return tag.lower() if isinstance(tag, str) else _COMMENT


def _text_in(node: etree._Element) -> str:
    return "".join(str(text) for text in node.itertext(etree.Element))


def _count_attributes(root: etree._Element, page: _Page) -> None:
    for node in root.iter(etree.Element):
        for name, value in node.attrib.items():
            is_read = name in _READ_ATTRIBUTES or (name == "value" and _name_of(node) == "input")
            kind = _COUNTED_ATTRIBUTES.get(str(name), "attribute") if value.strip() else "attribute"
            page.note("" if is_read else kind)


def find_page_codec(data: bytes, options: ReadOptions) -> tuple[TextCodec, str]:
    """Return the encoding of a page and how it is known.

    It is that of the byte-order mark, the given one, or what the page says. Otherwise it is found out.

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
    said = _META.search(data[:_META_BYTES]) or _XML.match(data[:_META_BYTES])
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
