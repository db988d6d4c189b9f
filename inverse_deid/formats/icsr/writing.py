"""Messages written case by case, in the encoding that they had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from lxml import etree

from inverse_deid.core.errors import StageError
from inverse_deid.core.wording import _
from inverse_deid.formats.icsr.prolog import Prolog
from inverse_deid.formats.icsr.rewriting import RewrittenCase
from inverse_deid.formats.icsr.standard.dialects import MessageDialect
from inverse_deid.formats.records import Writable


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a message: everything around the cases."""

    prolog: Prolog  # before the first element
    dialect: MessageDialect
    tag: str
    attributes: tuple[tuple[str, str], ...]  # of it, those that are structure
    namespaces: dict[str | None, str]  # that it declares
    lead: str  # white space before its first part
    is_single: bool  # whether it is itself the only case


class MessageWriter:
    """Writes a message in the encoding that it had."""

    def __init__(self, target: Writable, frame: Frame) -> None:
        self._target = target
        self._frame = frame
        self._shell = etree.Element(frame.tag, nsmap=cast(dict[str, str], frame.namespaces))
        for name, value in frame.attributes:
            self._shell.set(name, value)
        prolog = frame.prolog
        self._target.write(prolog.mark)
        self._write("".join(f"{line}\n" for line in (prolog.declaration, prolog.doctype) if line))
        self._start, self._end = _tags(self._shell)
        if not frame.is_single:
            self._write(self._start + frame.lead)

    def render(self, part: RewrittenCase) -> bytes:
        """Return one case, or one of the parts around the cases, as it is written; its XML is used up.

        Raises:
            StageError: The XML of the part does not fit into the frame.
        """
        if self._frame.is_single:
            return self._encode(etree.tostring(part.node, encoding="unicode"))
        self._shell.append(part.node)
        whole = etree.tostring(self._shell, encoding="unicode")
        self._shell.remove(part.node)
        if not (whole.startswith(self._start) and whole.endswith(self._end)):
            raise StageError(_("a rewritten case does not fit between the others"))
        return self._encode(whole[len(self._start) : -len(self._end)] + part.tail)

    def read_again(self, data: bytes) -> etree._Element:
        """Return the XML of a rendered part, as a recipient reads it.

        Raises:
            StageError: It is more or less than one element, or not XML.
        """
        text = data.decode(self._frame.prolog.codec)
        single = self._frame.is_single
        shell = etree.Element("shell")
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, attribute_defaults=False
        )
        try:
            read = etree.fromstring(text if single else f"{self._start}{text}{self._end}", parser)
        except (etree.XMLSyntaxError, ValueError):
            raise StageError(_("a rewritten case is not XML")) from None
        if single:
            shell.append(read)
        else:
            shell = read
        around = (shell.text or "") + "".join(node.tail or "" for node in shell)
        if len(shell) != 1 or (around and not around.isspace()):
            raise StageError(_("a rewritten case contains more than itself"))
        return shell[0]

    def write(self, data: bytes) -> None:
        self._target.write(data)

    def finish(self) -> None:
        """Close the outermost element; the target stays open."""
        self._write("\n" if self._frame.is_single else f"{self._end}\n")

    def _write(self, text: str) -> None:
        self._target.write(self._encode(text))

    def _encode(self, text: str) -> bytes:
        return text.encode(self._frame.prolog.codec, "xmlcharrefreplace")


def _tags(shell: etree._Element) -> tuple[str, str]:
    shell.text = "-"
    whole = etree.tostring(shell, encoding="unicode")
    shell.text = None
    start, end = whole.split(">-<", 1)
    return f"{start}>", f"<{end}"
