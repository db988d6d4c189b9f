"""What all formats share: format, record, source and sink."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

from inverse_deid.core.errors import ConfigurationError, FormatError, InverseDeidError, Remedy, StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.icsr.standard.profiles import Profile
from inverse_deid.formats.nesting import Nesting
from inverse_deid.formats.renames import Renames
from inverse_deid.formats.tables.kept_cells import KeptCell, KeptChanges

if TYPE_CHECKING:
    from inverse_deid.formats.icsr.cases import Case
    from inverse_deid.formats.icsr.rewriting import Replacements

CHARS_PER_NODE = 4
"""What an XML element of a case weighs in a batch: many small fields take memory as well."""

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""The largest single document that is read; longer ones are reported, not loaded."""


@dataclass(frozen=True, slots=True)
class PartColumns:
    """What happens to the columns of a table inside another file, as `ReadOptions` say it of a table alone.

    Without a text column, the table is left out.
    """

    text_columns: tuple[str, ...] = ()
    keep_columns: tuple[str, ...] = ()
    keep_unchecked: tuple[str, ...] = ()
    id_column: str | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file, and what is written of it.

    Args:
        encoding: Of text-like files; a byte-order mark is found and kept. None: found out.
        text_columns: Columns (or JSON keys) with texts, all masked, at least one.
        id_column: Column (or JSON key) with the id; None: `id` if there is one,
            else the position in the file. Ids are written unmasked.
        without_id: A column named `id` is treated as any other: it is not the id unless `id_column` names it.
        keep_columns: Columns (or JSON keys) that are copied; all others are dropped. Names, contacts, ids
            and free text in them are refused, and dates and ages follow those of the text.
        keep_all_columns: Copy all other columns, on the same condition.
        keep_unchecked: Columns (or JSON keys) that are copied whatever they contain.
        is_masked: The file is the output of masking: everything in it is read and written unchanged, and
            neutralised cells of CSV are restored.
        delimiter: Between the cells of a CSV table; None: found out.
        n_before: Records (in JSON Lines: lines) of the file before the part that is read; numbering
            continues from there.
        with_offsets: Masked JSON Lines also state which ranges of the original were masked.
        row_groups: Of a Parquet file, the half-open range of row groups to read; None = all.
        profile: What happens to the structured fields of case safety reports; None = the default profile.
        renames: New names of ids and of parts of archives; None = they are copied.
        new_name: With `renames`, the new name of the file; it replaces the id of a document without one.
        nesting: Of a file inside other files, where it is; None = it is inside none.
        part_columns: The columns of each table inside an e-mail or archive, by its place (`Nesting.place`).
            If it has any, tables that are not in it are left out. Without it, all have the same options.
        all_cells: Of an Excel file, mask all cells as running text, apart from `keep_columns`. No other
            option of columns has a meaning then.

        finds_out: Find out the encoding, and the separator of CSV files, if they are not given; else they
            are UTF-8 and a comma, in `.tsv` files a tab. Parts of one file must be read alike.

    Raises:
        ConfigurationError: A text would be its own id or be kept, or a column is named twice or never.
    """

    encoding: str | None = None
    text_columns: tuple[str, ...] = ("text",)
    id_column: str | None = None
    keep_columns: tuple[str, ...] = ()
    keep_all_columns: bool = False
    keep_unchecked: tuple[str, ...] = ()
    is_masked: bool = False
    delimiter: str | None = None
    n_before: int = 0
    row_groups: tuple[int, int] | None = None
    with_offsets: bool = False
    profile: Profile | None = field(default=None, repr=False)  # the fingerprint of a run has it apart
    renames: Renames | None = field(default=None, repr=False, compare=False)
    new_name: str = field(default="", repr=False, compare=False)
    nesting: Nesting | None = field(default=None, repr=False, compare=False)
    all_cells: bool = False
    finds_out: bool = True
    without_id: bool = False
    part_columns: Mapping[str, PartColumns] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        given = {
            "text_column": self.text_columns,
            "keep_column": self.keep_columns,
            "keep_unchecked": self.keep_unchecked,
        }
        for choice, names in given.items():
            if len(set(names)) < len(names):
                raise ConfigurationError(_("names a column twice. Leave one out"), choice=choice)
            if "" in names:
                raise ConfigurationError(_("is empty. Give the name of a column"), choice=choice)
        if not self.text_columns:
            raise ConfigurationError(
                _("no column to mask"), remedies=[Remedy("text_column", step=N_("name one with {}"))]
            )
        if self.id_column in self.text_columns:
            raise ConfigurationError(
                _("the column with the ids is to be masked, and ids are not masked"),
                remedies=[Remedy("id_column", step=N_("give another {}"))],
            )
        for choice, names in given.items():
            if names is not self.text_columns and not set(self.text_columns).isdisjoint(names):
                raise ConfigurationError(
                    _("a column cannot be masked and kept"),
                    remedies=[Remedy(choice, step=N_("leave out its {}"))],
                )
        has_columns = self.text_columns != ("text",) or self.id_column is not None or self.keep_all_columns
        if self.all_cells and has_columns:
            raise ConfigurationError(
                _("masks every column"),
                choice="all_cells",
                remedies=[Remedy("keep_column", step=N_("name only those to keep, with {}"))],
            )

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns that are named to be copied, checked or not.

        Example:
            >>> ReadOptions(keep_columns=("sex",), keep_unchecked=("visit", "sex")).kept_columns
            ('sex', 'visit')
        """
        return tuple(dict.fromkeys((*self.keep_columns, *self.keep_unchecked)))

    @property
    def copies_unchecked(self) -> bool:
        """Whether columns are copied unchecked, of the file or of a table in it."""
        return bool(self.keep_unchecked) or any(one.keep_unchecked for one in self.part_columns.values())

    def check_all(self) -> ReadOptions:
        """Return the same options with all columns checked that are copied.

        Example:
            >>> ReadOptions(keep_unchecked=("visit",)).check_all().keep_columns
            ('visit',)
        """
        parts = {
            place: replace(one, keep_columns=(*one.keep_columns, *one.keep_unchecked), keep_unchecked=())
            for place, one in self.part_columns.items()
        }
        return replace(self, keep_columns=self.kept_columns, keep_unchecked=(), part_columns=parts)

    def choose_part(self) -> ReadOptions | None:
        """Return the options for a table at the place that `nesting` says, None = nothing was chosen for it.

        Raises:
            FormatError: It is to be left out.

        Example:
            >>> options = ReadOptions(part_columns={"1": PartColumns(("note",))}, nesting=Nesting(place="1"))
            >>> options.choose_part().text_columns
            ('note',)
        """
        if not self.part_columns:
            return self
        chosen = self.part_columns.get("" if self.nesting is None else self.nesting.place)
        if chosen is None:
            return None
        if not chosen.text_columns:
            raise FormatError(_("was left out, as no column of it was chosen"))
        return replace(
            self,
            text_columns=chosen.text_columns,
            keep_columns=chosen.keep_columns,
            keep_unchecked=chosen.keep_unchecked,
            id_column=chosen.id_column,
            without_id=chosen.id_column is None,
            part_columns={},
        )

    @property
    def usual_encoding(self) -> str:
        """The encoding of files other than CSV."""
        return self.encoding or "utf-8"

    @property
    def id_name(self) -> str | None:
        """The column of the id, None = no id: the narrative is never used as an id.

        Example:
            >>> ReadOptions().id_name, ReadOptions(text_columns=("id",)).id_name
            ('id', None)
        """
        if self.id_column is not None:
            return self.id_column
        return None if self.without_id or "id" in self.text_columns else "id"

    def new_id(self, old: str) -> str:
        """Return the id that is written instead of one of the file.

        Raises:
            InputError: The list of new ids is complete and does not have it.
        """
        return old if self.renames is None else self.renames.name("id", old)

    @property
    def keeps_all(self) -> bool:
        """Whether columns that the user did not name are written."""
        return self.keep_all_columns or self.is_masked


@dataclass(frozen=True, slots=True)
class PartPlace:
    """Which record of which part of a container a record is."""

    part: int
    record: int  # the number that it has in its part
    inner: PartPlace | None = None  # if the part is a container as well


@dataclass(frozen=True, slots=True)
class Record:
    """One record of an input file.

    Args:
        number: Its position as people count it: line, spreadsheet row or document.
        docs: Its texts, all of one id; none if there is nothing to mask.
        problem: Why the record must be left out of the output, "" if it need not.
        remedies: What mends the problem.
        carried: What the sink writes in addition to the masked texts; never a text that must be masked.
        columns: The column of each text, if records of the file can have several texts; else ().
        new_id: What is written instead of the id of its texts, "" = their id.
        case_id: The same for all versions of a case, "" = the id of its texts. Secret shifts depend on it.
        report: The case safety report, or the part around such reports, that the texts belong to.
        fields: Once it is masked: the ids, dates and ages of the report.
        part: In an e-mail or archive, the part that it is of.
        place: Where people find it, "" = its number says it. It never contains text of the file.
        is_numbered: The file gives it no id, so that its number is the id of its texts.
        kept: Its values of kept columns, in a fixed order; those of unchecked columns are not among them.
        changes: Once they are judged: what is written instead of them.
    """

    number: int
    docs: tuple[Document, ...] = ()
    problem: str = ""
    remedies: tuple[Remedy, ...] = ()
    carried: tuple[object, ...] = field(default=(), repr=False)
    columns: tuple[str, ...] = ()
    new_id: str = ""
    case_id: str = field(default="", repr=False)
    report: Case | None = field(default=None, repr=False)
    fields: Replacements | None = field(default=None, repr=False)
    part: PartPlace | None = None
    place: str = ""
    is_numbered: bool = False
    kept: tuple[KeptCell, ...] = field(default=(), repr=False)
    changes: KeptChanges | None = None

    @classmethod
    def refuse(cls, number: int, error: InverseDeidError, place: str = "") -> Record:
        """Return a record that an error leaves out.

        Example:
            >>> Record.refuse(3, ConfigurationError("is not JSON")).problem
            'is not JSON'
        """
        return cls(number, problem=str(error), remedies=error.remedies, place=place)

    @property
    def is_frame(self) -> bool:
        """Whether it is a part around the cases of a batch: masked and written, but not counted as a case."""
        return self.report is not None and not self.report.is_case

    @property
    def n_chars(self) -> int:
        """How much room it takes in a batch, in characters."""
        if self.report is None:
            return sum(len(doc.text) for doc in self.docs)
        n_chars = sum(len(value.text) for value in self.report.values)
        return max(n_chars, CHARS_PER_NODE * self.report.n_nodes)

    @property
    def doc(self) -> Document | None:
        """The first text, None = no text."""
        return self.docs[0] if self.docs else None


def changes_of(record: Record) -> KeptChanges:
    """Return what is written instead of the kept cells of a record.

    Raises:
        StageError: Nobody judged the cells.
    """
    if record.changes is not None:
        return record.changes
    if record.kept:
        raise StageError(_("the kept columns of a record were not checked, so it cannot be written"))
    return KeptChanges()


def iterate_changes(record: Record) -> Iterator[str | None]:
    """Yield the new value of each kept cell in order, None = as it is; fails as `changes_of`."""
    values = changes_of(record).values
    return (values.get(number) for number in range(len(record.kept)))


def texts_by_column(
    record: Record, masked: Sequence[MaskedDocument], text_columns: Sequence[str]
) -> dict[str, str]:
    """Return the masked texts of a row by the names of their columns."""
    names = record.columns or text_columns[: len(masked)]
    return {name: one.text for name, one in zip(names, masked, strict=True)}


class Writable(Protocol):
    """Where a sink puts its bytes."""

    def write(self, data: bytes, /) -> int:
        """Take all of `data`."""
        ...


class Sink(Protocol):
    """Writes masked documents in the order of the records."""

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write one record; `masked` has one text for each of the record.

        Raises:
            RefusedRecordError: The masked record failed a check; nothing of it was written.
        """
        ...

    def finish(self) -> None:
        """Write what the format needs at its end; the target stays open."""
        ...


@runtime_checkable
class ReportingSink(Protocol):
    """A sink that counts what was done, and notes records that cannot be written."""

    def leave_out(self, record: Record) -> None:
        """Note a record with a problem."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Return what was done to the file, without values."""
        ...


@runtime_checkable
class FindsOut(Protocol):
    """A source that finds out how its file, or files in it, are written."""

    @property
    def read_as(self) -> Mapping[str, int]:
        """How many files are written how, in words that never come from them; none if it was said."""
        ...


@runtime_checkable
class RemovesParts(Protocol):
    """A source that leaves out parts of its file."""

    @property
    def removed(self) -> Mapping[str, int]:
        """How many parts of each kind are not written; the kinds never come from the file."""
        ...


@runtime_checkable
class Warns(Protocol):
    """A source whose file is masked in another way than the user may expect."""

    @property
    def warnings(self) -> Mapping[str, str]:
        """What is to be known, by place; nothing of it comes from the file. Complete after all records."""
        ...


class Source(Protocol):
    """One open input file.

    `unit` is the name of a record ("line", "row", "document", "case"). `resumable`: an output that was cut
    between two records can be continued.
    """

    @property
    def unit(self) -> str:
        """The name of one record in a message."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether a cut output can be continued."""
        ...

    @property
    def text_encoding(self) -> str:
        """The encoding of the masked texts."""
        ...

    @property
    def columns(self) -> Mapping[str, str]:
        """The `ColumnFate` of each column of a table that was seen so far."""
        ...

    def records(self) -> Iterator[Record]:
        """Yield the records in file order, once."""
        ...

    def sink(self, target: Writable, *, resumed: bool = False) -> Sink:
        """Return a sink of the same format; a resumed one writes no header again."""
        ...


@dataclass(frozen=True, slots=True)
class TableHead:
    """The first rows of a table, read to show them to the person who chooses columns.

    Args:
        names: Of its columns, as far as they are known before the first row.
        rows: The cells of each row as text, by the name of their column; an empty cell may be missing.
        read_as: How the bytes were read ("" = as always).
    """

    names: tuple[str, ...]
    rows: Iterator[Mapping[str, str]] = field(repr=False)
    read_as: str = ""


def import_when_used(module: str, function: str) -> Callable[..., Any]:
    """Return a function that imports one of a module when it is called: most runs need few formats."""
    return partial(_import_and_call, module, function)


def _import_and_call(module: str, function: str, *given: object) -> Any:  # noqa: ANN401 - what it returns
    return getattr(import_module(module), function)(*given)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Format:
    """A format of case narratives: how to open a file of it, and what such files can do.

    Args:
        name: As the choice of the format names it.
        open: Opens a file: its bytes, how to read it, and its name, the id of a single document.
        suffixes: Of its files, in lower case.
        is_head: Whether a file of these suffixes begins like this format; None = another format may
            share the suffixes, and this one is the default.
        is_single_document: A file is one document.
        holds_cases: A record is a case safety report: its fields are masked with its texts.
        can_be_revealed: A map can put the originals back into a masked file.
        is_laid_out_anew: The text of a masked file is not read back as it was written.
        can_be_piped: It can be read from a stream of unknown length.
        can_be_split: A part of a file can be masked without the rest.
        is_split_by_row_group: Parts are row groups, not ranges of bytes.
        needs_all_records: A file is written only when every record can be.
        has_offsets: Its output can state which ranges of the original were masked.
        has_annotations: i2b2 annotation XML can be written of it.
        is_container: A file contains other files, which may be case safety reports.
        added_suffix: Of the masked file, if that is of another format; "" = it is of the same.
        look: Opens a table to show its columns (see `survey`), None = it has no columns.
        list_scans: Returns the numbers of the pages, from 1, whose text was read from their picture; None = a
            file has no such pages.
        draw_scan: Returns the picture of such a page, as a new JPEG file.
        blank: Returns a whole file with blank lines in the place of some records, given by their numbers, so
            that all others keep their number and their bytes; None = a record cannot be taken out.
    """

    name: str
    open: Callable[[BinaryIO, ReadOptions, str], Source]
    suffixes: tuple[str, ...]
    is_head: Callable[[bytes], bool] | None = None
    is_single_document: bool = False
    holds_cases: bool = False
    can_be_revealed: bool = True
    is_laid_out_anew: bool = False
    can_be_piped: bool = True
    can_be_split: bool = False
    is_split_by_row_group: bool = False
    needs_all_records: bool = False
    has_offsets: bool = False
    has_annotations: bool = False
    is_container: bool = False
    added_suffix: str = ""
    look: Callable[[BinaryIO, ReadOptions, str], TableHead] | None = None
    list_scans: Callable[[bytes], list[int]] | None = None
    draw_scan: Callable[[bytes, int], bytes] | None = None
    blank: Callable[[bytes, ReadOptions, str, Collection[int]], bytes] | None = None

    def written_name(self, name: PurePosixPath) -> PurePosixPath:
        """Return the name of a masked file."""
        return name.with_name(name.name + self.added_suffix) if self.added_suffix else name

    def suffix_of(self, name: PurePath) -> str:
        """Return the suffix of a file, or the usual one if its own may be anything."""
        suffix = name.suffix.lower()
        return suffix if suffix in self.suffixes else self.suffixes[0]

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__
