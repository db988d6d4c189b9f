"""The start of an XML file up to its first element, read before any parser.

The encoding must be the declared one, and one whose markup is unambiguous. A document type declaration may
name an external DTD, which is never fetched. A declaration with inner declarations (entities, parameter
entities) is refused.
"""

from __future__ import annotations

import codecs
import io
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.core.wording import _

MAX_PROLOG_BYTES = 1024 * 1024

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_SAFE = re.compile(r"utf-8|ascii|iso8859-\d{1,2}|cp125\d")

_DECLARATION = re.compile(r"<\?xml\s[^?]*\?>")
_ENCODING = re.compile(r"""\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_SKIPPED = re.compile(r"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_LITERAL = r"""(?:"[^"<&]*"|'[^'<&]*')"""
_DOCTYPE = re.compile(
    rf"<!DOCTYPE\s+[^\s<>\[\]'\"]+(?:\s+(?:SYSTEM|PUBLIC\s+{_LITERAL})\s+{_LITERAL})?\s*(?P<next>.)",
    re.DOTALL,
)
_DTD = re.compile(
    r"(?:ich[-_]?)?icsr(?:[-_]?(?:xml)?[-_]?v?2[-_.]?[01])?(?:[-_]?xml)?(?:[-_](?:fda|ema|ev|hc|pmda))?\.dtd",
    re.IGNORECASE,
)
"""Names of the DTD of ICH and of the copies that authorities keep."""
_PUBLIC = re.compile(r"-//ICHM2//DTD ICH ICSR Vers\.? ?2\.[01]//EN")
_STRICT_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(?:"1\.\d"|'1\.\d')"""
    r"""(?:\s+encoding\s*=\s*(?:"[A-Za-z0-9._-]+"|'[A-Za-z0-9._-]+'))?"""
    r"""(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>"""
)
_ROOT = re.compile(r"<[^!?\s/<>]")


_FIRST_TAG = re.compile(
    r"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+(?P<named>[^\s>\[]+)[^>\[]*(?:\[.*?\]\s*)?>)*+"
    r"<(?:[^\s<>/:]+:)?(?P<root>[^\s<>/:]+)",
    re.DOTALL,
)
_ROOTS = frozenset(("MCCI_IN200100UV01", "PORR_IN049016UV", "ichicsr", "safetyreport"))


@dataclass(frozen=True, slots=True)
class Prolog:
    """The start of a file, before the first element."""

    codec: str  # the encoding of the file
    mark: bytes  # its byte-order mark, b"" = none
    declaration: str  # `<?xml ...?>` as in the file, "" = none
    doctype: str  # `<!DOCTYPE ...>` as in the file, "" = none
    head: bytes = field(repr=False)  # the bytes that were read so far


def is_icsr(head: bytes) -> bool:
    """Return whether the first bytes of XML are those of an E2B message, well formed or not.

    Example:
        >>> is_icsr(b'<?xml version="1.0"?><ichicsr lang="en">'), is_icsr(b"<deIdi2b2>")
        (True, False)
    """
    actual, mark = "", b""
    with suppress(UnreadableInputError):
        actual, mark = _actual_codec(head)
    text = head[len(mark) :].decode(actual or "latin-1", "replace")
    found = _FIRST_TAG.match(text)
    if found is None:
        doctype = re.search(r"<!DOCTYPE\s+([^\s>\[]+)", text)
        return doctype is not None and doctype[1] in _ROOTS
    return bool(_ROOTS & {found["root"], found["named"]})


def release_doctype(doctype: str, root: str) -> str:
    """Return the document type of `root` with only the base name of its DTD; "" = not a DTD of ICH.

    Example:
        >>> release_doctype('<!DOCTYPE ichicsr SYSTEM "C:/okonkwo/icsr21xml.dtd">', "ichicsr")
        '<!DOCTYPE ichicsr SYSTEM "icsr21xml.dtd">'
        >>> release_doctype('<!DOCTYPE ichicsr SYSTEM "okonkwo.dtd">', "ichicsr")
        ''
    """
    name = re.match(r"<!DOCTYPE\s+([^\s>]+)", doctype)
    literals = re.findall(_LITERAL, doctype)
    if name is None or name[1] != root or not literals:
        return ""
    system, quote = literals[-1][1:-1], literals[-1][0]
    base = re.split(r"[/\\]", system)[-1]
    if not _DTD.fullmatch(base):
        return ""
    public = literals[0] if len(literals) == 2 and _PUBLIC.fullmatch(literals[0][1:-1]) else ""
    identifier = f"PUBLIC {public}" if public else "SYSTEM"
    return f"<!DOCTYPE {root} {identifier} {quote}{base}{quote}>"


def read_prolog(stream: BinaryIO) -> Prolog:
    """Read up to the first element.

    Raises:
        FormatError: Not XML, or a document type declaration with declarations of its own.
        UnreadableInputError: Empty, of an encoding that is not read, or of another than is declared.
    """
    head = b""
    while True:
        chunk = stream.read(io.DEFAULT_BUFFER_SIZE * 8)
        head += chunk
        if not head:
            raise UnreadableInputError(_("is empty. Give a file with case reports"))
        codec, mark = _codec(head, at_end=not chunk)
        if codec:
            found = _scan(head[len(mark) :], codec)
            if found is not None:
                return Prolog(codec, mark, *found, head)
        if not chunk or len(head) > MAX_PROLOG_BYTES:
            raise FormatError(_("is not XML: no element found at its start. Give an E2B file"))


def _codec(head: bytes, *, at_end: bool) -> tuple[str, bytes]:
    # "" = more bytes are needed to say.
    actual, mark = _actual_codec(head)
    text = head[len(mark) :].decode(actual or "latin-1", "replace").lstrip()
    declaration = _DECLARATION.match(text)
    if text.startswith("<?xml") and declaration is None and not at_end and len(head) < MAX_PROLOG_BYTES:
        return "", mark
    found = _ENCODING.search(declaration[0]) if declaration else None
    declared = found[1] if found else ""
    if actual.startswith("utf-16"):
        _must_be(declared, "utf-16", actual)
        return actual, mark
    name = _look_up(declared or "utf-8")
    if name.startswith("utf-16") or (mark and name != "utf-8"):
        raise UnreadableInputError(
            _(
                "declares the encoding {declared} but has another. Save it in the declared one",
                declared=declared,
            )
        )
    if not _SAFE.fullmatch(name):
        raise UnreadableInputError(
            _(
                "has the encoding {declared}, which is not supported. Save it as UTF-8, UTF-16 or ISO-8859-1",
                declared=declared,
            )
        )
    return name, mark


def _actual_codec(head: bytes) -> tuple[str, bytes]:
    # "" = an encoding that begins like ASCII.
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise UnreadableInputError(_("is UTF-32, which is not supported. Save it as UTF-8"))
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec, mark
    return next((codec for start, codec in _BARE if head.startswith(start)), ""), b""


def _must_be(declared: str, *allowed: str) -> None:
    if declared and _look_up(declared) not in allowed:
        raise UnreadableInputError(
            _(
                "declares the encoding {declared} but is UTF-16. Save it in the declared one",
                declared=declared,
            )
        )


def _look_up(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name


def _scan(data: bytes, codec: str) -> tuple[str, str] | None:
    # None = the first element has not been reached.
    text = data.decode(codec, "replace")
    declaration = _DECLARATION.match(text)
    if declaration is not None and not _STRICT_DECLARATION.fullmatch(declaration[0]):
        raise FormatError(
            _("has an XML declaration with more than version, encoding and standalone. Export the file again")
        )
    position = declaration.end() if declaration else 0
    doctype = ""
    while True:
        skipped = _SKIPPED.match(text, position)
        if skipped is not None:
            position = skipped.end()
        elif _ROOT.match(text, position):
            return declaration[0] if declaration else "", doctype
        elif not doctype and text.startswith("<!DOCTYPE", position):
            found = _DOCTYPE.match(text, position)
            if found is None:
                return None
            doctype, position = _check_doctype(found), found.end()
        else:
            return None


def _check_doctype(found: re.Match[str]) -> str:
    if found["next"] != ">":
        raise FormatError(
            _(
                "has a document type declaration with inner declarations (entities). Delete everything "
                "between [ and ]"
            )
        )
    return found[0]
