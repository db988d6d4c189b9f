"""What a person chooses for files that they add: how strict, what is hidden, what replaces it, and columns.

`MaskingChoices` are the answers to the questions of the page. They become the settings of the masker and of
the release. An invented example shows what a choice does, masked by the real pipeline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

import msgspec

from inverse_deid.choices.questions import Question, list_questions
from inverse_deid.choices.records import Surface
from inverse_deid.core.errors import ReviewError
from inverse_deid.core.values import Document
from inverse_deid.core.wording import N_, _
from inverse_deid.files.survey import FileSurvey, SurveyedColumn
from inverse_deid.formats.records import PartColumns, ReadOptions
from inverse_deid.formats.tables.columns import ColumnFate, looks_like_a_name, plain_name
from inverse_deid.formats.tables.kept_cells import KeptCell
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.masking.choices import Chosen, choose_settings
from inverse_deid.masking.kept.forms import judge_form
from inverse_deid.masking.maskers import BuildMasker, Maskers
from inverse_deid.replacement.case_texts import CaseTexts

EXAMPLE = (
    "This 67-year-old African American woman, a retired baker from Lindenau, took lamotrigine 200 mg from "
    "3 March 2021. On 12 March 2021 Mrs Holloway had fever and a rash. Biscuit, her dog, was well. Dr Quill "
    "(ward Rosewood, ref. KX-48213) stopped it, and she recovered."
)
"""Invented. It has something for each question."""

_N_KEPT_EXAMPLES = 2

QUESTIONS = list_questions(Surface.DESK)
"""What the page asks."""


class MaskingChoices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answers to the questions of the page.

    Args:
        answers: The names of questions and the values of answers, where they are not the usual ones.
    """

    answers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> MaskingChoices:
        """Read the answers of a form or of JSON; for one that is not given, the default counts.

        Raises:
            ReviewError: An answer is not known.
        """
        given = [(one, fields.get(one.name) or one.default) for one in QUESTIONS]
        if any(one.find_answer(value) is None for one, value in given):
            raise ReviewError(_("the form has an unknown answer. Load the page again"))
        return cls(tuple((one.name, value) for one, value in given if value != one.default))

    def answer_to(self, question: Question) -> str:
        """Return the value of the answer to a question."""
        return dict(self.answers).get(question.name, question.default)

    def describe(self) -> str:
        """Return all answers as one line for the trail.

        Example:
            >>> MaskingChoices.from_fields({"dates": "year"}).describe().split(", ")[4]
            'dates=year'
        """
        return ", ".join(f"{one.name}={self.answer_to(one)}" for one in QUESTIONS)

    def choose(self, key: bytes, today: date) -> Chosen:
        """Return what the answers mean; `key` is for moved dates.

        Where a category is not hidden, nothing replaces its words.
        """
        answers = {one.name: one.find_answer(self.answer_to(one)) for one in QUESTIONS}
        idle = {name for one in answers.values() if one for name in one.idle}
        settings: dict[str, Any] = {"key": key}
        for name, answer in answers.items():
            if answer is not None and name not in idle:
                settings |= answer.settings
        return choose_settings(None, settings, today)


class ExamplePart(NamedTuple):
    """A piece of the masked example; a replaced one stands for hidden words."""

    text: str
    is_replaced: bool


class Examples:
    """Masks the example; each answer is worked out once."""

    def __init__(self, build: BuildMasker, key: bytes) -> None:
        self._maskers = Maskers(build, _N_KEPT_EXAMPLES)
        self._key = key
        self._known: dict[MaskingChoices, tuple[ExamplePart, ...]] = {}

    def mask(self, choices: MaskingChoices, today: date) -> tuple[ExamplePart, ...]:
        """Return the example as it would be released, in pieces."""
        if choices not in self._known:
            with self._maskers.lock:
                masking = choices.choose(self._key, today).masking
                self.mask_with(self._maskers.get(masking), choices, today)
        return self._known[choices]

    def mask_with(self, masker: DocumentMasker, choices: MaskingChoices, today: date) -> None:
        """Work the example out with a masker of these choices that nobody else uses now."""
        cases = CaseMasker(masker, choices.choose(self._key, today).cases)
        texts = CaseTexts(id="example", docs=(Document("example", EXAMPLE),))
        doc = cases.mask_cases([texts])[0].docs[0]
        found: tuple[ExamplePart, ...] = ()
        done = 0
        for start, end in doc.replaced:
            found += (ExamplePart(doc.text[done:start], False), ExamplePart(doc.text[start:end], True))
            done = end
        self._known[choices] = (*found, ExamplePart(doc.text[done:], False))

    def drop_idle(self) -> None:
        """Free the memory of the maskers; what was worked out stays known."""
        self._maskers.drop_idle()


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IDENTIFYING_WORDS = """
    address birth birthday born centre center city clinic contact dob doctor email fax hospital id ident
    identifier initial initials insurance investigator mail mobile mrn name names nhs number passport patient
    person phone physician postcode practice record reporter sender signature ssn street subject surname
    telephone town url user zip
"""
"""In names of columns."""
_IDENTIFYING_VALUE = re.compile(
    r"@|https?:|\d{6}|\d[\d ()/-]{6,}\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|^\s*[A-Z][a-z]+[ ,]+[A-Z][a-z]+\s*$"
)
_FREE_TEXT_WORDS = 5


FOUND_IN_IT = N_("When it was checked, something that may identify a person was found in it.")
"""Of a column that masking has refused to keep."""


def find_danger(column: SurveyedColumn, *, is_refused: bool = False) -> str:
    """Say why a column should not be kept as it is, "" = nothing speaks against it; to be translated.

    `is_refused`: masking has refused to keep it.

    Example:
        >>> find_danger(SurveyedColumn("reporter_name", ("A. Li",), is_narrative=False, is_unique=True))
        'Its name says that it may identify a person.'
        >>> find_danger(SurveyedColumn("country", ("Norway",), is_narrative=False, is_unique=False))
        ''
    """
    values = column.values
    if is_refused:
        return FOUND_IN_IT
    if column.is_narrative or any(len(value.split()) > _FREE_TEXT_WORDS for value in values):
        return N_("It contains free text, which can name people.")
    if {word.casefold() for word in _WORD.findall(column.name)} & set(_IDENTIFYING_WORDS.split()):
        return N_("Its name says that it may identify a person.")
    if any(_IDENTIFYING_VALUE.search(value) for value in values):
        return N_("Its values look like dates, numbers, names or addresses of people.")
    return ""


_CASE_WORDS = frozenset({"aer", "case", "cases", "control", "icsr", "report", "safety", "worldwide"})
"""One of them is in the name of a column with numbers of cases."""
_NUMBER_WORDS = frozenset(
    {"code", "id", "identifier", "key", "no", "nr", "number", "ref", "reference", "row"}
)
_CODE = re.compile(r"(?=\S*\d)[\w./:-]{1,40}")


def looks_like_case_number(column: SurveyedColumn) -> bool:
    """Whether a column seems to have numbers of cases: each value is a code of its own, and none a person's.

    Example:
        >>> names = ("case_no", "mrn", "patient_id")
        >>> sorts = {"is_narrative": False, "is_unique": True}
        >>> columns = [SurveyedColumn(one, ("A-1", "A-2"), **sorts) for one in names]
        >>> [looks_like_case_number(one) for one in columns]
        [True, False, False]
    """
    words = {word.casefold() for word in _WORD.findall(column.name)}
    names_case = bool(words & _CASE_WORDS) or (bool(words) and words <= _NUMBER_WORDS)
    names_person = bool(words & (set(_IDENTIFYING_WORDS.split()) - _NUMBER_WORDS))
    is_code = bool(column.values) and all(_CODE.fullmatch(value.strip()) for value in column.values)
    return column.is_unique and not column.is_narrative and names_case and not names_person and is_code


@dataclass(frozen=True, slots=True)
class Concern:
    """A column that is copied unmasked only after a second confirmation."""

    number: int  # its place among all columns of the file, from 0
    column: str = field(repr=False)
    fate: ColumnFate
    found: str  # why it needs one; to be translated
    table: int = 0  # the number of its table inside the file

    @property
    def shown(self) -> str:
        """Its name, or its number if the name could be a cell."""
        return self.column if looks_like_a_name(plain_name(self.column)) else str(self.number + 1)

    @property
    def recorded(self) -> str:
        """What the trail says of it."""
        where = f" of table {self.table + 1}" if self.table else ""
        return f"column {self.shown}{where} {self.fate}. {self.found}"


def find_concerns(
    columns: Sequence[SurveyedColumn], fates: Sequence[ColumnFate], refused: Collection[int] = ()
) -> list[Concern]:
    """Return the columns whose copying has to be confirmed: what looks like people, and what nobody checks.

    `refused`: the numbers of those that masking has refused to keep.

    Example:
        >>> columns = [SurveyedColumn("site", ("Oslo 3",), is_narrative=False, is_unique=False)]
        >>> find_concerns(columns, [ColumnFate.KEPT])
        []
        >>> find_concerns(columns, [ColumnFate.UNCHECKED])[0].recorded
        'column site kept unchecked. Nothing in it is checked, whatever it contains.'
    """
    found = []
    for number, (column, fate) in enumerate(zip(columns, fates, strict=True)):
        danger = find_danger(column, is_refused=number in refused)
        if fate is ColumnFate.UNCHECKED:
            danger = danger or N_("Nothing in it is checked, whatever it contains.")
        if fate is ColumnFate.KEPT and not column.is_narrative and _is_replaced(column):
            continue
        if fate is ColumnFate.ID and looks_like_case_number(column) and number not in refused:
            continue
        if (fate.is_kept or fate is ColumnFate.ID) and danger:
            found.append(Concern(number, column.name, fate, danger, column.table))
    return found


def find_copied(columns: Sequence[SurveyedColumn], options: ReadOptions) -> list[Concern]:
    """Return the columns of a file that options copy and that need a second confirmation.

    A column that was not found in the file is judged by its name.

    Example:
        >>> [one.column for one in find_copied([], ReadOptions(keep_columns=("country", "patient_name")))]
        ['patient_name']
    """
    names = {one.name for one in columns}
    missing = [one for one in options.kept_columns if one not in names]
    known = [*columns, *(SurveyedColumn(one, (), is_narrative=False, is_unique=False) for one in missing)]

    def find_fate(name: str) -> ColumnFate:
        if name in options.keep_unchecked:
            return ColumnFate.UNCHECKED
        if name in options.text_columns or name == options.id_column:
            return ColumnFate.MASKED
        is_kept = options.keep_all_columns or name in options.keep_columns
        return ColumnFate.KEPT if is_kept else ColumnFate.DROPPED

    return find_concerns(known, [find_fate(one.name) for one in known])


def _is_replaced(column: SurveyedColumn) -> bool:
    # Dates and ages of a column that is checked follow those of the text.
    verdicts = [judge_form(KeptCell(column.name, value), None) for value in column.values]
    return bool(verdicts) and all(one is not None and one.sort for one in verdicts)


def find_refusal(column: SurveyedColumn, fate: ColumnFate, *, is_refused: bool = False) -> str:
    """Say why a column cannot be treated like this, "" = it can.

    Nobody reviews what is copied, and the name of a case is not encrypted, so neither can be a narrative.
    `is_refused`: masking has refused to keep it, and would do so again.

    Example:
        >>> notes = SurveyedColumn("notes", ("Seen by A. Li at home.",), is_narrative=True, is_unique=True)
        >>> find_refusal(notes, ColumnFate.KEPT)
        'contains narratives, so it can only be masked or dropped'
        >>> find_refusal(notes, ColumnFate.MASKED)
        ''
    """
    if column.is_narrative and (fate.is_kept or fate is ColumnFate.ID):
        return _("contains narratives, so it can only be masked or dropped")
    if is_refused and fate is ColumnFate.KEPT:
        return _("must not be kept: something that may identify a person was found in it")
    if fate is ColumnFate.ID and any(len(value.split()) > _FREE_TEXT_WORDS for value in column.values):
        return _("contains free text, so it cannot be the number of the case")
    return ""


def describe_fates(fates: Sequence[ColumnFate]) -> str:
    """Return how many columns are masked, kept and dropped, "" = none; a name could be a cell.

    Example:
        >>> describe_fates([ColumnFate.MASKED, ColumnFate.KEPT])
        '1 masked, 1 kept'
    """
    counts = Counter(fates)
    return ", ".join(f"{counts[fate]} {fate}" for fate in ColumnFate if counts[fate])


def make_read_options(survey: FileSurvey | None, fates: Sequence[ColumnFate]) -> ReadOptions:
    """Return how a file is read whose columns are treated like this.

    Args:
        survey: What was found in it, None = nothing.
        fates: Of each column that was found, in order.

    Raises:
        ReviewError: No column of a table is masked, or several are ids. All columns of a table inside the
            file may be dropped.
    """
    if survey is None or not survey.columns:
        return ReadOptions()
    if len(fates) != len(survey.columns):
        raise ReviewError(_("something must be chosen for each column. Load the page again"))
    if not survey.tables:
        one = _choose_columns(survey.columns, fates)
        return ReadOptions(
            text_columns=one.text_columns,
            keep_columns=one.keep_columns,
            keep_unchecked=one.keep_unchecked,
            id_column=one.id_column,
            without_id=one.id_column is None,
        )
    parts: dict[str, PartColumns] = {}
    for number, table in enumerate(survey.tables):
        own = [at for at, column in enumerate(survey.columns) if column.table == number]
        chosen = [fates[at] for at in own]
        is_dropped = set(chosen) <= {ColumnFate.DROPPED}
        columns = PartColumns() if is_dropped else _choose_columns([survey.columns[at] for at in own], chosen)
        parts |= dict.fromkeys(table.places, columns)
    return ReadOptions(part_columns=parts)


def _choose_columns(columns: Sequence[SurveyedColumn], fates: Sequence[ColumnFate]) -> PartColumns:
    def choose(fate: ColumnFate) -> tuple[str, ...]:
        return tuple(one.name for one, chosen in zip(columns, fates, strict=True) if chosen is fate)

    masked, ids = choose(ColumnFate.MASKED), choose(ColumnFate.ID)
    if not masked:
        raise ReviewError(_("choose at least one column with text to be masked"))
    if len(ids) > 1:
        raise ReviewError(_("only one column can be the number of the case. Drop or keep the others"))
    kept, unchecked = choose(ColumnFate.KEPT), choose(ColumnFate.UNCHECKED)
    return PartColumns(masked, kept, unchecked, ids[0] if ids else None)
