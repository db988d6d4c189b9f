"""What a second adjudicator sees of a column that would be copied unmasked, and who can be one."""

from __future__ import annotations

from collections.abc import Callable

from inverse_deid.core.wording import _, ngettext
from inverse_deid.files.survey import ColumnValues
from inverse_deid.formats.tables.kept_cells import KeptCell
from inverse_deid.masking.kept.columns import KeptColumns
from inverse_deid.masking.kept.forms import A_NAME
from inverse_deid.review.files.choices import Concern
from inverse_deid.review.files.waiting import AskedColumn, UploadFacts
from inverse_deid.review.people.accounts import list_users
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.values import UserRole

MAX_EXAMPLES = 5
"""So many values are shown."""
MAX_EXAMPLE_CHARS = 120
_AT_ONCE = 100


def count_values(
    concern: Concern, values: ColumnValues, kept: KeptColumns, is_stopped: Callable[[], bool]
) -> AskedColumn | None:
    """Return how many values of a column look like people, None = it was stopped.

    Args:
        concern: The column.
        values: Of the column.
        kept: Judges them as it would judge those of a kept column.
        is_stopped: Asked from time to time.
    """
    cells = [(KeptCell(concern.column, value), n) for value, n in values.values]
    why: dict[KeptCell, str] = {}
    for begin in range(0, len(cells), _AT_ONCE):
        if is_stopped():
            return None
        why |= kept.find_refused([cell for cell, _n in cells[begin : begin + _AT_ONCE]])
    n_names = sum(n for cell, n in cells if why.get(cell) == A_NAME)
    first = sorted(cells, key=lambda one: (why.get(one[0], "") != A_NAME, one[0] not in why))
    return AskedColumn(
        concern,
        n_values=values.n_values,
        n_checked=sum(n for _cell, n in cells),
        n_names=n_names,
        n_others=sum(n for cell, n in cells if cell in why) - n_names,
        examples=tuple(cell.value[:MAX_EXAMPLE_CHARS] for cell, _n in first[:MAX_EXAMPLES]),
    )


def describe_count(asked: AskedColumn) -> str:
    """Return how many values look like people, without a value.

    Example:
        >>> from inverse_deid.formats.tables.columns import ColumnFate
        >>> concern = Concern(1, "seen_by", ColumnFate.UNCHECKED, "")
        >>> describe_count(AskedColumn(concern, n_values=3, n_checked=3, n_names=2, n_others=1))
        '2 of 3 values look like names, and 1 may identify a person in another way'
    """
    n = asked.n_checked
    said = ngettext(
        "{n_names:,} of {n:,} value looks like a name, and {n_others:,} may identify a person in another way",
        "{n_names:,} of {n:,} values look like names, and {n_others:,} may identify a person in another way",
        n,
        n=n,
        n_names=asked.n_names,
        n_others=asked.n_others,
    )
    if asked.n_values is not None and asked.n_values > n:
        said += _(". {n:,} more were not looked at", n=asked.n_values - n)
    return said


def list_seconds(store: ReviewStore, facts: UploadFacts, chosen_by: str) -> list[str]:
    """Return the adjudicators who can confirm columns: neither who added the file nor who chose them."""
    return [
        one.name
        for one in list_users(store)
        if one.is_active and one.role is UserRole.ADJUDICATOR and one.name not in (facts.by, chosen_by)
    ]
