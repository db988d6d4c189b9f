"""The text that an HTML page shows, in lines."""

from __future__ import annotations

import re
from contextlib import suppress

from lxml import etree, html

from inverse_deid.core.errors import FormatError

_HIDDEN = frozenset({"script", "style", "head", "title", "template", "object", "svg", "math", "iframe"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "center",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tr",
        "ul",
    ]
)


def read_html_text(page: str) -> str:
    """Return the text of a page without markup, comments, scripts and values of attributes.

    Raises:
        FormatError: It cannot be parsed.

    Example:
        >>> read_html_text("<p title='Ann'>Pt <b>well</b>.</p><!-- Ann --><td>1</td>")
        'Pt well.\\n1'
    """
    if not page.strip():
        return ""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    root = None
    with suppress(etree.LxmlError, ValueError):
        root = html.document_fromstring(page.encode("utf-8", "replace"), parser=parser)
    if root is None:
        raise FormatError("has a page (HTML) that cannot be read. Save it as plain text")
    words: list[str] = []
    for event, node in etree.iterwalk(root, events=("start", "end")):
        tag = str(node.tag).lower()
        is_shown = next((True for one in (node, *node.iterancestors()) if one.tag in _HIDDEN), False) is False
        if tag in _BLOCKS:
            words.append("\n")
        elif tag in ("td", "th") and event == "start":
            words.append("\t")
        if event == "start" and is_shown:
            words.append(re.sub(r"\s+", " ", node.text or ""))
        elif event == "end":
            parent = node.getparent()
            is_parent_shown = parent is not None and not any(
                one.tag in _HIDDEN for one in (parent, *parent.iterancestors())
            )
            words.append(re.sub(r"\s+", " ", node.tail or "") if is_parent_shown else "")
    lines = ("".join(words)).split("\n")
    return "\n".join(line.strip() for line in lines if line.strip())
