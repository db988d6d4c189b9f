"""Identifiers that tell when they were made: UUIDs of some versions, object identifiers with a day in them.

Source: RFC 9562, sections 5.1, 5.2, 5.6 and 5.7 (UUIDs of the versions 1, 2, 6 and 7 hold a time; 1, 2 and 6
also the address of a machine).
"""

from __future__ import annotations

import re

_UUID_WITH_TIME = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[1267][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
)
_DAY_IN_OID = re.compile(
    r"[0-9.]*(?<![0-9])(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{4}|\d{6,7})?(?![0-9])[0-9.]*"
)

_DAY = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}([-_/.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12][0-9]|3[01])(?![0-9]{1,3}(?![0-9]))"
)
REPORT_IDS = frozenset(("N.1.2", "N.2.r.1", "C.1.1", "C.1.8.1", "C.1.9.1.r.2", "C.1.10.r"))
"""Ids that senders make up, often from the day; pseudonyms may stand for them."""


def tells_time(identifier: str) -> bool:
    """Whether an identifier holds a time or a day.

    Example:
        >>> tells_time("c232ab00-9414-11ec-b3c8-9f6bdeced846"), tells_time("1.2.40.20200304.7")
        (True, True)
        >>> tells_time("154eb889-958b-45f2-a02f-42d4d6f4657f"), tells_time("2.16.840.1.113883.3.989.2.1.3.1")
        (False, False)
    """
    return bool(_UUID_WITH_TIME.fullmatch(identifier) or _DAY_IN_OID.fullmatch(identifier))


def numbered_uuid(number: int) -> str:
    """A UUID that tells nothing but a number.

    Example:
        >>> numbered_uuid(1)
        '00000000-0000-4000-8000-000000000001'
    """
    return f"00000000-0000-4000-8000-{number:012d}"


def holds_day(text: str) -> bool:
    """Whether an id holds what reads as a day, year first.

    Example:
        >>> holds_day("SE-ACME-2020-03-04-7"), holds_day("SE-ACME-4711")
        (True, False)
    """
    return _DAY.search(text) is not None
