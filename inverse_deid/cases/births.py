"""Which dates of a text are dates of birth: the words right before or behind them say so.

The words are those of the languages whose months are read. A cue speaks of the date that follows it in
the same sentence, or of the one right before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

_WORDS = (
    r"(?<![a-z])(?:still)?born(?![a-z])",
    r"birth(?!\W+(?:control|defects?|rates?)\b)",
    r"(?<![a-z])b['\u2019 -]?day(?![a-z])",
    r"(?<![a-z])[dy][./ ]?\s?o[./ ]?\s?b(?![a-z])",
    r"(?<![a-z])geb(?:oren|urts|\b)|geboorte",
    r"(?<![a-z])n[\u00e9e]e?\W{1,3}(?:le|en)\b|naissance|(?<![a-z])DDN(?![a-z])",
    r"(?<![a-z])nacid[oa]|nacimiento",
    r"(?<![a-z])nat[oa]\W{1,3}(?:il|l['\u2019]|nel)|nascita",
    r"(?<![a-z])nascid[oa]|nascimento",
    r"(?<![a-z])f[\u00f6\u00f8]d(?:d|t|else)?(?![a-z])",
    r"(?<![a-z])ur(?:\.|odz)|(?<![a-z])ur(?=\s+\d)",
)
_CUE = re.compile("|".join(_WORDS), re.IGNORECASE)
_SIGN = re.compile(r"(?:(?<![A-Za-z0-9])b\.?|\(\s?\*)\s{0,2}$")
_TIGHT = re.compile(
    r"\w{0,20}+\.?+[\s:=.>,\"'|(\[*_-]{0,12}+(?:(?:on|in|is|was|the|value|am|le|el|il|den|dnia)\b\W{1,3}){0,3}",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"\w{0,20}+\.?+[\s:=.>,\"'|()\[\]*_-]{0,12}+(?:(?!\.\s+[^\W\d_a-z])[^;!?\n]){0,60}")
_BEHIND = re.compile(
    r"[\s(\[,=:<>|\"'-]{0,4}(?:(?:is|was|as|being)\s)?(?:(?:the|his|her|their|patient['\u2019]?s?)\s)?"
    r"(?:(?:date|day|year)\s+of\s+)?",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(r"[\s|\"']{0,2}(?:[(\[=]|is\b|was\b)", re.IGNORECASE)


def born_on(text: str, dates: Sequence[tuple[int, int]]) -> set[int]:
    """Which dates of a text are dates of birth.

    Where a cue between two dates can speak of either, both are.

    Args:
        text: The text.
        dates: Where its dates stand, in order: half-open code-point offsets.

    Returns:
        Positions in `dates`.

    Example:
        >>> born_on("DOB 12 May 1962, seen 3 Oct 2019", [(4, 15), (22, 32)])
        {0}
    """
    if not dates:
        return set()
    ends = [end for _, end in dates]
    found = {i for i, (start, _) in enumerate(dates) if _SIGN.search(text, max(0, start - 4), start)}
    for cue in _CUE.finditer(text):
        before = bisect_right(ends, cue.start()) - 1
        behind = before + 1
        is_behind = before >= 0 and _BEHIND.fullmatch(text, ends[before], cue.start()) is not None
        if is_behind and _SAYS_SO.match(text, ends[before]):
            found.add(before)
            continue
        start = dates[behind][0] if behind < len(dates) else len(text) + 1
        if cue.end() <= start <= len(text) and _TIGHT.fullmatch(text, cue.end(), start):
            found.add(behind)
            continue
        found.update([before] if is_behind else [])
        if cue.end() <= start <= len(text) and _LOOSE.fullmatch(text, cue.end(), start):
            found.add(behind)
    return found
