"""The groups of PHI that have figures: all, HIPAA, short names, hyper-classes, fine types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from inverse_deid.core.phi import HIPAA_TYPES, HYPER_CLASS_OF, HyperClass, PhiType

SHORT_NAME_CHARS = 3
"""A name token of at most this many characters is short: initials, and names that look like words."""

SHORT_NAME_TYPES = frozenset({PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR})


class GroupKind(StrEnum):
    """What the types of a group share."""

    ALL = "all"
    HIPAA = "hipaa"
    SHORT_NAMES = "short_names"
    HYPER = "hyper"
    FINE = "fine"


@dataclass(frozen=True, slots=True)
class Group:
    """PHI types. The short names are only tokens of at most `SHORT_NAME_CHARS` characters."""

    kind: GroupKind
    name: str
    types: frozenset[PhiType]


def _make_groups() -> Iterator[Group]:
    yield Group(GroupKind.ALL, "ALL", frozenset(PhiType))
    yield Group(GroupKind.HIPAA, "HIPAA", HIPAA_TYPES)
    yield Group(GroupKind.SHORT_NAMES, "SHORT_NAMES", SHORT_NAME_TYPES)
    for hyper in HyperClass:
        types = frozenset(fine for fine in PhiType if HYPER_CLASS_OF[fine] is hyper)
        if types:
            yield Group(GroupKind.HYPER, hyper, types)
    for fine in PhiType:
        yield Group(GroupKind.FINE, fine, frozenset({fine}))


GROUPS: tuple[Group, ...] = tuple(_make_groups())
"""All groups, in the order of the columns of `Counts`."""

TYPE_NUMBER = {fine: number for number, fine in enumerate(PhiType)}
"""The row of each fine type in `MEMBERS`."""

MEMBERS = np.array([[fine in group.types for group in GROUPS] for fine in PhiType], np.bool_)
"""bool (n_types, n_groups): whether a type belongs to a group."""

IS_SHORT = np.array([group.kind is GroupKind.SHORT_NAMES for group in GROUPS], np.bool_)
"""bool (n_groups,): whether the group has only short tokens."""


def group_number(kind: GroupKind, name: str | None = None) -> int:
    """Return the column of a group. The name is needed where a kind has several groups.

    Raises:
        ValueError: There is no such group.

    Example:
        >>> GROUPS[group_number(GroupKind.HYPER, "DATE")].types
        frozenset({<PhiType.DATE: 'DATE'>})
    """
    for number, group in enumerate(GROUPS):
        if group.kind is kind and name in (None, group.name):
            return number
    raise ValueError(f"no group {name} of the kind {kind}")
