"""Columns of tables and fields of JSON Lines: which are masked, kept or dropped.

A column is written only if the user named it: texts are masked, the id and kept columns are copied. All
others are dropped, unless the user keeps all columns. Values of kept columns are checked before they are
written (`kept_cells`), unless the user keeps a column unchecked.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache

from inverse_deid.core.errors import FormatError, Remedy
from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.records import ReadOptions

OTHERS = "(others)"
"""Replaces names that are not shown."""

MAX_NAMES = 200
_MAX_NAME_CHARS = 200
_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[^\W\d_][^\W\d_A-Z]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_COLUMN_WORDS = """
    action address adverse age batch birth body case city class clinical code comment comments company
    content contents country created data date days death description diagnosis dob doc document dose drug
    drugs e email end event events field file first follow free full gender health history hospital icsr id
    ident identifier info initial initials input key l label lab language last lot mail med medical message
    meta mrn n name names narrative narratives no note notes num number number onset original outcome patient
    phone product pt reaction reactions received record ref reference report reported reporter result row
    sender serious seriousness set severity sex source start state status str study subject summary symptom
    symptoms t tag tags term test text texts time title type unit up url user vaccine value version visit
    weight x y year zip
"""
"""Words in names of columns. A first row without them may be data and is not shown."""
_JOINED = frozenset(("pt", "of", "at", "in", "id", "no", "nr", "dt", "yr", "gp"))
_LOOKS_LIKE_A_NAME = re.compile(r"[^\W\d][\w .()/#-]{0,39}(?<![.\s])")


class ColumnFate(StrEnum):
    """What happens to a column."""

    MASKED = "masked"
    ID = "id"
    KEPT = "kept"
    UNCHECKED = "kept unchecked"
    DROPPED = "dropped"

    @property
    def is_kept(self) -> bool:
        """Whether its values are copied, and it is not the id."""
        return self in (ColumnFate.KEPT, ColumnFate.UNCHECKED)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table and what happens to them."""

    names: tuple[str, ...] = field(repr=False)  # all of them, in the order of the file
    fates: tuple[ColumnFate, ...]
    text_columns: tuple[str, ...]  # those that are masked, in the order of the options
    id_index: int | None  # position of the id, None = no id

    @property
    def by_name(self) -> dict[str, ColumnFate]:
        return dict(zip(self.names, self.fates, strict=True))

    @property
    def written(self) -> tuple[int, ...]:
        return tuple(i for i, fate in enumerate(self.fates) if fate is not ColumnFate.DROPPED)

    @property
    def checked(self) -> tuple[int, ...]:
        """The positions of the columns whose values are checked before they are written."""
        return tuple(i for i, fate in enumerate(self.fates) if fate is ColumnFate.KEPT)

    def check_order(self, cells: Sequence[str]) -> None:
        """Refuse a row that is the header of another table: below it, texts are in columns that are written.

        Such a row has two names of columns or nothing else, and the name of a text over a column that is
        copied; or it has the names of all columns that are written, in other places.

        Raises:
            FormatError: The row is such a header.
        """
        texts = set(map(_fold, self.text_columns))
        if len(self.written) < 2 or not any(_fold(cell) in texts for cell in cells):
            return
        there, own = [_fold(cell) for cell in cells], [_fold(name) for name in self.names]
        is_moved = any(there[i] != own[i] for i in self.written)
        is_copied = any(there[i] in texts for i in self.written if self.fates[i] is not ColumnFate.MASKED)
        n_names = sum(name in own for name in there if name)
        has_texts_over_others = is_copied and (n_names > 1 or n_names == sum(map(bool, there)))
        if has_texts_over_others or (is_moved and {own[i] for i in self.written} <= set(there)):
            raise FormatError(_("has a second header with another order of columns. Split the table there"))


def refuse_all_cells(options: ReadOptions, formats: str) -> None:
    """Refuse to mask all cells of a format with columns: the id would be kept, and one column masked.

    Raises:
        FormatError: It was made.
    """
    if options.all_cells:
        raise FormatError(
            _("is {formats}, and all cells can be masked of Excel and .json files only", formats=formats),
            remedies=[Remedy("text_column", step=N_("name its columns with {}"))],
        )


def choose_columns(names: Sequence[str], options: ReadOptions, delimiter: Remedy | None = None) -> Columns:
    """Decide what happens to the columns of a table.

    Args:
        names: As the file has them.
        options: The columns that the user named.
        delimiter: What else to do if the table has one column. Its name may be text and is not shown.

    Raises:
        FormatError: Two columns have the same name, or a named column is missing.

    Example:
        >>> [str(fate) for fate in choose_columns(["id", "text", "dob"], ReadOptions()).fates]
        ['id', 'masked', 'dropped']
    """
    options = find_columns(names, options)
    check_names(names, options)
    named = [name for name in names if name]
    for choice, column in list_named_columns(options):
        if column not in named:
            if delimiter is not None and len(names) == 1:
                raise FormatError(
                    _("no column named {column!r}. It has 1 column", column=column),
                    remedies=[delimiter, Remedy(choice)],
                )
            raise no_column(choice, column, names)
    fates = tuple(fate_of(name, options) for name in names)
    id_index = fates.index(ColumnFate.ID) if ColumnFate.ID in fates else None
    return Columns(tuple(names), fates, options.text_columns, id_index)


def find_columns(names: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Return the same options with the names that the columns have in a table.

    A column that is not there is the only one whose name looks the same: spaces and invisible characters
    may differ. Otherwise its name stays as the user gave it.

    Raises:
        ConfigurationError: Two options name the same column.

    Example:
        >>> find_columns(["id", " text"], ReadOptions()).text_columns
        (' text',)
    """
    plain = [plain_name(name) for name in names]

    def find(given: str) -> str:
        same = [
            name for name, shown in zip(names, plain, strict=True) if shown and shown == plain_name(given)
        ]
        return same[0] if given not in names and len(same) == 1 else given

    texts = tuple(map(find, options.text_columns))
    identifier = None if options.id_name is None else find(options.id_name)
    if options.id_column is None and identifier in ("id", *texts):
        identifier = None
    return replace(
        options,
        text_columns=texts,
        keep_columns=tuple(map(find, options.keep_columns)),
        keep_unchecked=tuple(map(find, options.keep_unchecked)),
        id_column=identifier,
    )


def plain_name(name: str) -> str:
    r"""Return a name as people see it: without spaces around it and characters that are not shown.

    Example:
        >>> plain_name(" case\n id\u200b")
        'case id'
    """
    return " ".join("".join(sign for sign in name if unicodedata.category(sign) != "Cf").split())


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold() if len(name) <= _MAX_NAME_CHARS else name


def check_names(
    names: Sequence[str], options: ReadOptions, label: Callable[[int], str] = lambda i: str(i + 1)
) -> None:
    """Refuse a table with two columns of one name.

    Args:
        names: Of its columns, "" = none.
        options: The columns that the user named. If a row has all texts, it is the header and may be shown.
        label: Names a column by its place, counted from 0.

    Raises:
        FormatError: Two columns have the same name.
    """
    twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twice is None:
        return
    has_texts = set(options.text_columns) <= set(names)
    is_shown = looks_like_a_name(plain_name(twice)) and (has_texts or is_header(names))
    *places, last = (label(i) for i, name in enumerate(names) if name == twice)
    shown = f" {twice!r}" if is_shown else ""
    count = "two" if len(places) == 1 else "several"
    where = f"{', '.join(places)} and {last}"
    raise FormatError(
        _(
            "{count} columns have the same name{shown} (columns {where}). Rename one",
            count=count,
            shown=shown,
            where=where,
        )
    )


def list_named_columns(options: ReadOptions) -> Iterable[tuple[str, str]]:
    """Yield each column that the user named, after the choice that names it."""
    yield from (("text_column", name) for name in options.text_columns)
    yield from (("keep_column", name) for name in options.keep_columns)
    yield from (("keep_unchecked", name) for name in options.keep_unchecked)
    if options.id_column is not None:
        yield "id_column", options.id_column


def fate_of(name: str, options: ReadOptions) -> ColumnFate:
    if name in options.text_columns:
        return ColumnFate.MASKED
    if name == options.id_name:
        return ColumnFate.ID
    if options.is_masked or name in options.keep_unchecked:
        return ColumnFate.UNCHECKED
    is_kept = options.keeps_all or name in options.keep_columns
    return ColumnFate.KEPT if is_kept else ColumnFate.DROPPED


def no_column(choice: str, column: str, names: Sequence[str]) -> FormatError:
    """Return the error for a missing column; a first row that is not a header may be data and is not shown.

    Example:
        >>> str(no_column("text_column", "text", ["id", "narrative"]))
        "no column named 'text'. It has: id, narrative"
        >>> str(no_column("text_column", "text", ["7", "Seen by Ann."]))
        "no column named 'text' among its 2, which do not look like names"
        >>> str(no_column("text_column", "text", ["id", " Text"]))
        "no column named 'text'. It has: id, ' Text'"
        >>> no_column("text_column", "text", ["id", " Text"]).remedies
        (Remedy(choice='text_column', value=' Text', step='use {}', also=()),)
    """
    if not is_header(names):
        return FormatError(
            _(
                "no column named {column!r} among its {n_names}, which do not look like names",
                column=column,
                n_names=len(names),
            ),
            remedies=[Remedy(choice)],
        )
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    alike = plain_name(column).casefold()
    same = next((name for name in names if plain_name(name).casefold() == alike), None)
    shown = (name if name == plain_name(name) else repr(name) for name in names[:MAX_NAMES])
    return FormatError(
        _(
            "no column named {column!r}. It has: {shown}{more}",
            column=column,
            shown=", ".join(shown),
            more=more,
        ),
        remedies=[Remedy(choice, same or "")],
    )


def is_header(names: Sequence[str]) -> bool:
    """Return whether a first row is a header: half of its names consist of known words or have a `_`."""
    column_words = frozenset(_COLUMN_WORDS.split())
    known = [set(map(str.casefold, _WORD.findall(name))) for name in names]
    has_known = (bool(words) and words <= column_words for words in known)
    n_known = sum(is_known or "_" in name for is_known, name in zip(has_known, names, strict=True))
    plain = map(plain_name, names)  # a name may have spaces around it
    return all(map(looks_like_a_name, plain)) and 2 * n_known >= len(names)


def looks_like_a_name(text: str) -> bool:
    """Return whether a text can be the name of a column rather than a cell.

    Example:
        >>> [looks_like_a_name(text) for text in ("company_comment", "1980-05-12", "Pt well.")]
        [True, False, False]
    """
    return _LOOKS_LIKE_A_NAME.fullmatch(text) is not None


@lru_cache(maxsize=1 << 12)
def words_of(name: str) -> frozenset[str]:
    """Return the words in the name of a column, in lower case.

    Words that are written together are taken apart if they are words that names of columns have.

    Example:
        >>> sorted(words_of("patientAge_years"))
        ['age', 'patient', 'years']
        >>> sorted(words_of("patientonsetage")), sorted(words_of("dosage"))
        (['age', 'onset', 'patient'], ['dosage'])
        >>> sorted(words_of("ÂGE_années"))
        ['années', 'âge']
    """
    name = unicodedata.normalize("NFC", name[:_MAX_NAME_CHARS])
    joined = _LETTERS.findall(name)
    words = (w.casefold() for part in joined for w in ([part] if part.isupper() else _WORD.findall(part)))
    return frozenset(part for word in words for part in _split(word))


def _split(word: str) -> Sequence[str]:
    # The word itself if it is not joined, or is a word alone.
    known = _words_of_names()
    if word in known:
        return (word,)
    paths: list[tuple[str, ...] | None] = [()]
    for end in range(1, len(word) + 1):
        before = ((paths[start], word[start:end]) for start in range(end))
        paths.append(
            next(((*path, part) for path, part in before if path is not None and part in known), None)
        )
    return paths[-1] or (word,)


@cache
def _words_of_names() -> frozenset[str]:
    # Of two letters only those that are often joined.
    sorts = (words for sort, words in _column_words().items() if sort not in ("passing", "sentence"))
    words = frozenset(_COLUMN_WORDS.split()).union(*sorts)
    return _JOINED | {word for word in words if len(word) > 2}


def has_known_words(name: str) -> bool:
    """Return whether a name consists of words that names of columns have.

    Example:
        >>> has_known_words("patientonsetage"), has_known_words("seen_by_ada")
        (True, False)
    """
    words = words_of(name)
    return bool(words) and words <= _words_of_names()


def is_age_column(name: str) -> bool:
    """Return whether the values of a column are ages.

    Example:
        >>> is_age_column("Age at onset"), is_age_column("dosage"), is_age_column("age_unit")
        (True, False, False)
    """
    words = words_of(name)
    is_years = words <= column_words("years") and not words.isdisjoint(("years", "yrs", "old"))
    return is_years or (says(name, "age") and not says(name, "age_unit"))


def says(name: str, sort: str) -> bool:
    """Return whether the name of a column has a word of a sort, see `column_words.toml`.

    Example:
        >>> says("patient_dob", "birth"), says("dose", "birth")
        (True, False)
    """
    return not words_of(name).isdisjoint(column_words(sort))


def column_words(sort: str) -> frozenset[str]:
    """Return the words of a sort, see `column_words.toml`."""
    return _column_words()[sort]


@cache
def _column_words() -> Mapping[str, frozenset[str]]:
    table = tomllib.loads(packaged_path("column_words.toml").read_text(encoding="utf-8"))
    return {sort: frozenset(words.split()) for sort, words in table["words"].items()}
