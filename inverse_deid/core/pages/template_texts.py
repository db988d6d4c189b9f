"""The functions for texts in templates of pages, the texts of their scripts, and their styles."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from markupsafe import Markup, escape

from inverse_deid.core.wording import _, current_language, is_translated, ngettext


def _translate(message: str, /, **fields: object) -> Markup:
    """Return a text of a template, which may have tags; its fields are escaped."""
    return Markup(_(message, **_escape(fields)))  # noqa: S704 - of a template or a catalogue


def _translate_number(one: str, many: str, n: int, /, **fields: object) -> Markup:
    return Markup(ngettext(one, many, n, **_escape(fields)))  # noqa: S704 - as above


def _escape(fields: Mapping[str, object]) -> dict[str, object]:
    """Return fields as they may be between tags; a number keeps its type, so that it can be formatted."""
    return {name: one if isinstance(one, int | float) else escape(one) for name, one in fields.items()}


TEMPLATE_TEXTS: dict[str, object] = {
    "_": _translate,
    "ngettext": _translate_number,
    "language": current_language,
}
"""What templates know beside their values."""


def join_sheets(sheets: Iterable[Path]) -> tuple[str, str]:
    """Return style sheets as one, for a page that is one file, and its SHA-256 in base64 for its policy."""
    style = "\n" + "".join(sheet.read_text("utf-8") for sheet in sheets)
    return style, base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


_STRING = r'("(?:[^"\\]|\\.)*")'
_SCRIPT_TEXT = re.compile(rf"(?<![\w.])(?:_\(\s*{_STRING}|ngettext\(\s*{_STRING},\s*{_STRING})")
_COUNTED = range(200)
"""No language has a rule by which greater numbers have another form than these with the same end."""

ScriptText = tuple[str, ...]
"""A text of a script, or that for one and that for many."""


def find_script_texts(script: str) -> list[ScriptText]:
    """Return the texts that a script translates.

    Example:
        >>> find_script_texts('say(_("{n} words", { n: 3 }), ngettext("{n} case", "{n} cases", 3))')
        [('{n} words',), ('{n} case', '{n} cases')]
    """
    found = (filter(None, one) for one in _SCRIPT_TEXT.findall(script))
    return [tuple(json.loads(text) for text in one) for one in found]


def translate_script_texts(texts: Iterable[ScriptText]) -> dict[str, object]:
    """Return what `texts.js` reads: the texts in the language of the context, and the form of each number.

    Example:
        >>> translate_script_texts([("{n} words",)])
        {}
    """
    if not is_translated():
        return {}
    singles: dict[str, str] = {}
    forms: dict[str, tuple[list[str], list[int]]] = {}
    for one in texts:
        if len(one) == 1:
            singles[one[0]] = _(one[0])
        else:
            by_number = [ngettext(one[0], one[1], n) for n in _COUNTED]
            distinct = list(dict.fromkeys(by_number))
            forms[one[1]] = (distinct, [distinct.index(text) for text in by_number])
    return {"texts": singles, "forms": forms}
