"""The parser for XML that strangers wrote."""

from __future__ import annotations

from typing import Any

from lxml import etree


def safe_parser(target: Any = None) -> etree.XMLParser:  # noqa: ANN401 - what lxml takes
    """Return a parser that resolves no entity, fetches nothing, and drops comments and instructions.

    Whoever uses it refuses a document type declaration. With a target, no tree is built: its methods `start`,
    `end`, `data`, `doctype` and `close` are called.
    """
    return etree.XMLParser(
        target=target,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
