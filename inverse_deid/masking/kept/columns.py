"""Check of kept columns: what identifies a person is refused, and dates and ages follow those of the text.

A value passes if its form says nothing of a person (a number, a code, a country), or if the masker would keep
all of it. The masker reads every distinct value once, alone and after the name of its column. The check holds
for every value at the time it is written, so nothing of a file is released if its last row fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.choices.records import Surface, find_choice
from inverse_deid.choices.table import CHOICES
from inverse_deid.core.errors import KeptColumnError, Remedy
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.tables.columns import looks_like_a_name, says
from inverse_deid.formats.tables.kept_cells import KeptCell, KeptChanges
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.masking.kept.codes import plain_value
from inverse_deid.masking.kept.dates import NO_CLOCK, DateDoubt, KeptDate, replace_kept_date
from inverse_deid.masking.kept.forms import (
    A_NAME,
    PASSES,
    Verdict,
    find_split_date,
    judge_form,
    read_date,
    years_of,
)
from inverse_deid.replacement.ages import AgePolicy, AgesUnder90, BandedAges, MaskedAges
from inverse_deid.replacement.dates.policies import (
    DatePolicy,
    MaskedDates,
    RelativeDays,
    ShiftedDates,
    YearDates,
)
from inverse_deid.replacement.replacers import MaskedCase

MAX_VERDICTS = 200_000
"""So many distinct values are remembered."""
_CLASSES = tuple(HyperClass)
_PROBE = "A 43-year-old woman had a rash on 12 October 2019 (2019-10-12)."


class HasKept(Protocol):
    """A record with kept columns: a `Record` or what was read of one."""

    @property
    def number(self) -> int:
        """Its position as people count it."""
        ...

    @property
    def place(self) -> str:
        """Where people find it."""
        ...

    @property
    def problem(self) -> str:
        """Why it is left out."""
        ...

    @property
    def kept(self) -> tuple[KeptCell, ...]:
        """Its values of kept columns."""
        ...


@dataclass(frozen=True, slots=True)
class MaskedKinds:
    """Whether a masker masks dates and ages at all."""

    dates: bool
    ages: bool


@dataclass(slots=True)
class KeptColumns:
    """Judges the values of kept columns, and says what is written instead of dates and ages.

    Args:
        masker: The one that masks the texts, None = the values were judged before (a release).
        day_first: The order of numeric dates that the user states, None = not known.
        unit: The name of a record in messages.
        kinds: What the masker masks, None = it is asked.

    Example:
        >>> from inverse_deid.formats.records import Record
        >>> from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
        >>> kept = KeptColumns(build_deidentifier(MaskingSettings()))
        >>> record = Record(2, kept=(KeptCell("country", "Norway"), KeptCell("seen_by", "Dr. Okonkwo")))
        >>> kept.judge([record])
        Traceback (most recent call last):
        ...
        inverse_deid.core.errors.KeptColumnError: row 2, column 'seen_by': a kept column must not \
contain a name
    """

    masker: DocumentMasker | None = field(repr=False)
    day_first: bool | None = None
    unit: str = N_("row")
    kinds: MaskedKinds | None = None
    _verdicts: dict[KeptCell, Verdict] = field(default_factory=dict, repr=False)

    def judge(self, records: Iterable[HasKept]) -> None:
        """Refuse values that must not leave.

        Raises:
            KeptColumnError: Names the first record with such a value, its column and the kind.
        """
        checked = [record for record in records if record.kept and not record.problem]
        verdicts = self._learn({cell for record in checked for cell in record.kept})
        for record in checked:
            if (part := find_split_date(record.kept)) is not None and self._masks("date"):
                raise self._refuse(record, part, _("a part of a date"))
            for cell in record.kept:
                if refusal := verdicts[cell].refusal:
                    raise self._refuse(record, cell, refusal)

    def settle(
        self, records: Sequence[HasKept], cases: Sequence[MaskedCase | None]
    ) -> list[KeptChanges | None]:
        """Return what is written instead of the kept dates and ages of records that were judged.

        Args:
            records: Of one batch.
            cases: The masked texts of each with its policies, None = it has no text.

        Returns:
            The changes of each record, None = it has no kept cells, or a problem.

        Raises:
            KeptColumnError: The policy masks all dates or all ages, so that they cannot be kept.
        """
        verdicts = self._learn({cell for record in records for cell in record.kept})
        return [
            self._change(record, case, verdicts) if record.kept and not record.problem else None
            for record, case in zip(records, cases, strict=True)
        ]

    def find_replaced(self, cells: Collection[KeptCell]) -> dict[KeptCell, str]:
        """Return which cells that were judged get another value, as dates and ages of the text do.

        Returns:
            "date" or "age" of each such cell.
        """
        verdicts = self._learn(cells)
        sorts = {cell: verdicts[cell].sort for cell in cells}
        return {cell: sort for cell, sort in sorts.items() if sort and self._masks(sort)}

    def find_refused(self, cells: Collection[KeptCell]) -> dict[KeptCell, str]:
        """Return why cells must not leave, to be translated; those that may leave are not in it."""
        verdicts = self._learn(cells)
        return {cell: verdicts[cell].refusal for cell in cells if verdicts[cell].refusal}

    def refuse_masked(self, records: Iterable[HasKept], *, dates: bool, ages: bool) -> None:
        """Refuse dates and ages that a policy would mask, before anything is masked.

        Raises:
            KeptColumnError: As `settle`.
        """
        replaces = {"date": dates, "age": ages}
        checked = [record for record in records if not record.problem]
        verdicts = self._learn({cell for record in checked for cell in record.kept})
        for record in checked:
            for cell in record.kept:
                sort = verdicts[cell].sort
                if sort and not replaces[sort] and self._masks(sort):
                    raise self._refuse_sort(record, cell, sort)

    def _masks(self, sort: str) -> bool:
        if self.kinds is None:
            if self.masker is None:
                return True
            (probe,) = self.masker.mask_many([Document("kept columns", _PROBE)])
            kept = {word for word, keep in zip(probe.tokens.words, probe.decisions.keep, strict=True) if keep}
            self.kinds = MaskedKinds(dates="2019" not in kept, ages="43" not in kept)
        return self.kinds.dates if sort == "date" else self.kinds.ages

    def _change(
        self, record: HasKept, case: MaskedCase | None, verdicts: Mapping[KeptCell, Verdict]
    ) -> KeptChanges:
        values: dict[int, str] = {}
        replaced: Counter[str] = Counter()
        emptied: Counter[str] = Counter()
        dates, ages = (MaskedDates(), MaskedAges()) if case is None else (case.dates, case.ages)
        is_known = case is not None and not case.is_plain
        for number, cell in enumerate(record.kept):
            sort = verdicts[cell].sort
            if not sort:
                continue
            masks = self._masks(sort)
            is_masked = isinstance(dates if sort == "date" else ages, MaskedDates | MaskedAges)
            if masks and is_masked and is_known and self.masker is not None:
                raise self._refuse_sort(record, cell, sort)
            new = (
                self._replace_date(cell, dates if masks else None)
                if sort == "date"
                else _replace_age(cell, ages if masks else AgesUnder90())
            )
            if new == cell.value:
                continue
            if cell.type == "nested":
                raise self._refuse(record, cell, _("a {sort} inside a list or an object", sort=sort))
            values[number] = new
            (replaced if new else emptied)[f"{sort} in a kept column"] += 1
        return KeptChanges(
            values,
            dates_are_text=isinstance(dates, YearDates | RelativeDays),
            ages_are_text=isinstance(ages, BandedAges),
            replaced=dict(replaced),
            emptied=dict(emptied),
        )

    def _replace_date(self, cell: KeptCell, policy: DatePolicy | None) -> str:
        if policy is None:
            return cell.value
        today = NO_CLOCK
        if isinstance(policy, YearDates | RelativeDays | ShiftedDates):
            today = policy.case.today
        found = read_date(cell, self.day_first, today)
        return replace_kept_date(found, policy) if isinstance(found, KeptDate) else ""

    def _learn(self, cells: Collection[KeptCell]) -> Mapping[KeptCell, Verdict]:
        # The masker reads the cells that are new and whose form says nothing. Several threads may call it:
        # each works with what it returns, not with what is remembered.
        known = self._verdicts
        verdicts = {cell: known[cell] for cell in cells if cell in known}
        asked: list[KeptCell] = []
        for cell in cells:
            if cell not in verdicts:
                verdict = judge_form(cell, self.day_first)
                if verdict is None and self.masker is not None:
                    asked.append(cell)
                else:
                    verdicts[cell] = verdict or PASSES
        verdicts |= self._read_words(asked)
        known.update(verdicts)  # entries are never removed: another thread may read them
        if len(known) > MAX_VERDICTS:
            self._verdicts = {}
        return verdicts

    def _read_words(self, cells: Sequence[KeptCell]) -> dict[KeptCell, Verdict]:
        # Alone and after the name of their column.
        if not cells or self.masker is None:
            return {}
        read = [(cell.column, plain_value(cell.value, cell.column)) for cell in cells]
        docs = [Document("kept columns", value) for _, value in read]
        docs += [Document("kept columns", f"{column}: {value}") for column, value in read]
        masked = self.masker.mask_many(docs)
        if len(masked) != len(docs):
            raise KeptColumnError(_("the kept columns could not be checked, so nothing is written"))
        pairs = zip(cells, masked[: len(cells)], masked[len(cells) :], strict=True)
        return {cell: _judge_masked(cell, alone, named) for cell, alone, named in pairs}

    def _refuse(self, record: HasKept, cell: KeptCell, kind: str) -> KeptColumnError:
        order = [
            Remedy("day_first", step=N_("say that the day comes first ({})")),
            Remedy("month_first", step=N_("say that the month comes first ({})")),
        ]
        return KeptColumnError(
            _(
                "{locate}: a kept column must not contain {kind}",
                locate=self._locate(record, cell),
                kind=kind,
            ),
            column=cell.column,
            remedies=[
                *(order if kind == DateDoubt.ORDER else ()),
                Remedy("text_column", step=N_("mask it ({})")),
                Remedy(step=N_("leave it out")),
                Remedy("keep_unchecked", step=N_("name it with {}")),
            ],
        )

    def _refuse_sort(self, record: HasKept, cell: KeptCell, sort: str) -> KeptColumnError:
        names = find_choice(CHOICES, f"{sort}s").names_on(Surface.PYTHON)[1:]
        others = _("{names} or {name}", names=", ".join(names[:-1]), name=names[-1])
        return KeptColumnError(
            _(
                "{locate}: has {sort}s, and {sort}s are masked in the text",
                locate=self._locate(record, cell),
                sort=sort,
            ),
            remedies=[
                Remedy(f"{sort}s", step=_("replace {sort}s ({{}} {others})", sort=sort, others=others)),
                Remedy(step=N_("leave the column out")),
                Remedy("keep_unchecked", step=N_("name it with {}")),
            ],
        )

    def _locate(self, record: HasKept, cell: KeptCell) -> str:
        place = record.place or f"{_(self.unit)} {record.number}"
        return (
            _("{place}, column {column!r}", place=place, column=cell.column)
            if looks_like_a_name(cell.column)
            else place
        )


def _replace_age(cell: KeptCell, policy: AgePolicy) -> str:
    # "" = nothing, since it is masked.
    years = years_of(cell.value.strip())
    new = policy.replacement(years)
    if new is None:
        return ""
    if new == years:
        return cell.value
    return "" if cell.type == "number" and isinstance(policy, AgesUnder90) else new


_KIND_OF = {
    HyperClass.NAME: A_NAME,
    HyperClass.PLACE: N_("a place"),
    HyperClass.DATE: N_("a date that cannot be read"),
    HyperClass.AGE: N_("an age"),
    HyperClass.CONTACT: N_("a contact"),
    HyperClass.ID: N_("an identifier"),
    HyperClass.PROFESSION: N_("a profession"),
}


def _judge_masked(cell: KeptCell, alone: MaskedDocument, named: MaskedDocument) -> Verdict:
    if alone.failed or named.failed:
        return Verdict(refusal=N_("text that could not be checked"))
    if alone.decisions.keep.all():
        return PASSES
    first = len(named.tokens.text) - len(alone.tokens.text)
    own = [
        keep for keep, start in zip(named.decisions.keep, named.tokens.starts, strict=True) if start >= first
    ]
    # The name of a column explains a word, not a number, unless it is about a measure.
    is_explained = not any(map(str.isdigit, cell.value)) or says(cell.column, "measure")
    if own and all(own) and is_explained:
        return PASSES
    hidden = alone.decisions.categories[~alone.decisions.keep]
    kinds = Counter(_CLASSES[number] for number in hidden.tolist() if number)
    kind = kinds.most_common(1)[0][0] if kinds else HyperClass.NAME
    return Verdict(refusal=_KIND_OF[kind])
