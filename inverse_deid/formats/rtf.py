r"""RTF files (.rtf): their text, written into a new RTF file of plain paragraphs (docs/office-files.md).

`striprtf` reads the text of groups. This module splits the file into the groups whose text it leaves out
(headers, footers, notes, comments, text boxes), which follow the body, and drops what is not text: pictures, objects,
properties, lists of authors, tracked deletions, the targets of links.

Source: Rich Text Format Specification 1.9.1 (Microsoft 2008), "Conventions of an RTF Reader" and
"Document Area".
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import Format, ReadOptions

MAX_DEPTH = 1_000

_DAMAGED = "is not an RTF file or is damaged. Open it in Word or LibreOffice and save it again"
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])|"
    r"(?P<brace>[{}])|[^\\{}]+",
    re.DOTALL,
)
_STORIES = frozenset(
    "header headerl headerr headerf footer footerl footerr footerf footnote annotation shptxt dptxbxtext".split()
)
"""Groups with text that is not part of the body."""
_TRANSPARENT = frozenset(["shp", "shpinst", "shpgrp", "do", "field", "upr"])
"""Words of groups around text; `striprtf` would drop the text or show the targets of links."""
_INSTEAD = {"cell": "\\tab ", "nestcell": "\\tab ", "nestrow": "\\line ", "column": "\\par "}
_REMOVED = {
    "pict": "image",
    "object": "embedded object",
    "info": "properties",
    "userprops": "properties",
    "docvar": "variable",
    "revtbl": "list of authors",
    "atnauthor": "author of a comment",
    "fldinst": "field instruction",
    "bkmkstart": "bookmark",
    "themedata": "theme",
    "datastore": "custom XML",
    "mailmerge": "mail merge",
    "passwordhash": "password",
}
_ENCODINGS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


def read_rtf(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    r"""Open an RTF file.

    Raises:
        FormatError: Not RTF, cut off, or with characters that its code page does not have.
        UnreadableInputError: Empty or too large.
        ConfigurationError: The extra `office` is not installed.

    Example:
        >>> import io
        >>> file = io.BytesIO(b"{\\rtf1\\ansi Pt well.\\par}")
        >>> [record.doc.text for record in read_rtf(file, ReadOptions(), "a.rtf").records()]
        ['Pt well.']
    """
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise missing_extra("reading RTF files", error.name, "office") from error
    splitter = _Splitter()
    body = splitter.split(read_whole(stream).decode("latin-1"))
    text: str | None = None
    with suppress(ValueError, LookupError, TypeError, OverflowError):
        text = rtf_to_text(body, splitter.encoding, errors="strict")
    if text is None:
        raise FormatError(_DAMAGED)
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")
    text = "\n".join(line.rstrip(" \t") for line in text.splitlines()).strip("\n")
    if not text:
        raise FormatError("has no text. Give an RTF file with text")
    return RebuiltFile(Document(name, text), _build, dict(sorted(splitter.removed.items())))


class _Splitter:
    """Writes a file again with its headers, notes and text boxes after the body, for `striprtf`."""

    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self.encoding = "cp1252"
        self._stories: list[list[str]] = [[]]  # the body, and what follows it
        self._opened: list[int] = []  # for each open group, the story around it
        self._current = 0
        self._deleted: set[int] = set()  # the depths of groups in which a tracked deletion has begun
        self._is_starred = False  # the next word may be ignored, and its group with it

    def split(self, text: str) -> str:
        """Return the text of the new file.

        Raises:
            FormatError: Braces do not match, or nothing says that this is RTF.
        """
        text = text.lstrip("\ufeff \t\r\n")
        if not text.startswith("{\\rtf"):
            raise FormatError(_DAMAGED)
        position = 0
        while match := _TOKEN.match(text, position):
            position = match.end()
            word = match["word"]
            if word == "bin":
                position += max(int(match["number"] or 0), 0)
            elif match["brace"]:
                self._take_brace(match["brace"])
                if not self._opened:
                    break
            elif match["sign"] == "*":
                self._is_starred = True
            elif word is not None:
                self._take_word(word, match["number"], match.group())
            else:
                self._put(re.sub(r"[^\x00-\x7f]", lambda sign: f"\\'{ord(sign[0]):02x}", match.group()))
        if self._opened:
            raise FormatError(_DAMAGED)
        body = "".join(self._stories[0]).removesuffix("}")
        others = "".join(f"{{\\par \\par {''.join(story)}}}" for story in self._stories[1:])
        return f"{body}{others}}}"

    def _take_brace(self, brace: str) -> None:
        if brace == "{":
            self._put("{")
            self._opened.append(self._current)
            if len(self._opened) > MAX_DEPTH:
                raise FormatError(_DAMAGED)
            return
        self._end_deletion()
        self._is_starred = False
        self._current = self._opened.pop()
        self._put("}")

    def _take_word(self, word: str, number: str | None, shown: str) -> None:
        if word in _REMOVED:
            self._note(_REMOVED[word])
        self.encoding = _ENCODINGS.get(word, self.encoding)
        if word in _STORIES or word in _TRANSPARENT:
            self._is_starred = False
            if word in _STORIES:
                self._stories.append([])
                self._current = len(self._stories) - 1
        elif word in ("deleted", "plain"):
            self._end_deletion()
            if word == "deleted" and number != "0":
                self._note("tracked deletion")
                self._put("{\\*")
                self._deleted.add(len(self._opened))
        else:
            self._put(_INSTEAD.get(word, shown))

    def _end_deletion(self) -> None:
        if len(self._opened) in self._deleted:
            self._deleted.discard(len(self._opened))
            self._put("}")

    def _put(self, shown: str) -> None:
        story = self._stories[self._current]
        story.append(f"\\*{shown}" if self._is_starred else shown)
        self._is_starred = False

    def _note(self, kind: str) -> None:
        self.removed[kind] = self.removed.get(kind, 0) + 1


_HEAD = "{\\rtf1\\ansi\\ansicpg1252\\deff0\\uc1{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}}\\f0\\fs22\n"
_ESCAPES = {"\\": "\\\\", "{": "\\{", "}": "\\}", "\t": "\\tab ", "\n": "\\par\n", "\f": "\\page "}


def _build(masked: MaskedDocument) -> bytes:
    """Return a file of plain paragraphs."""
    return f"{_HEAD}{''.join(map(_escape, masked.text))}}}\n".encode("ascii")


def _escape(sign: str) -> str:
    r"""Return what RTF has for a character.

    Example:
        >>> _escape("{"), _escape("µ"), _escape("\U0001f600")
        ('\\{', '\\u181?', '\\u-10179?\\u-8704?')
    """
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isascii():
        return sign if sign.isprintable() else "?"
    data = sign.encode("utf-16-le", "replace")
    units = [int.from_bytes(data[i : i + 2], "little", signed=True) for i in range(0, len(data), 2)]
    return "".join(f"\\u{unit}?" for unit in units)


FORMAT = Format(
    name="rtf",
    open=read_rtf,
    suffixes=(".rtf",),
    is_single_document=True,
    can_be_piped=False,
    can_be_revealed=False,
)
