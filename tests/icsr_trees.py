"""Comparing E2B messages in tests: canonical XML, and which values of two trees differ."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import BinaryIO

from icsr_messages import ALL_KEEP
from lxml import etree

from inverse_deid.core.errors import RefusedRecordError
from inverse_deid.engine.masker import mask_with_fields
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.messages import BrokenCase, Limits, Message
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.source import MessageReport, ReportSource, read_reports
from inverse_deid.formats.icsr.standard.dates import DateElement, StampDate
from inverse_deid.formats.icsr.standard.profiles import Profile
from inverse_deid.formats.records import ReadOptions, Writable
from inverse_deid.masking.case_masker import DocumentMasker


def canonical(data: bytes) -> bytes:
    """Canonical XML without comments and instructions, and without the path of a schema location."""
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, load_dtd=False, no_network=True)
    whole = etree.tostring(etree.fromstring(data, parser), method="c14n", with_comments=False)
    return re.sub(rb'(schemaLocation="[^" ]+ )[^" ]*/', rb"\1", whole)


def read_cases(stream: BinaryIO, limits: Limits | None = None) -> Iterator[Case | BrokenCase]:
    """Yield the cases of a message, single or batch, and the faults of those that cannot be read."""
    for part in Message(stream, limits).parts():
        if isinstance(part, BrokenCase) or part.is_case:
            yield part


def cases_of(data: bytes, limits: Limits | None = None) -> list[Case | BrokenCase]:
    return list(read_cases(io.BytesIO(data), limits))


def only_case(data: bytes) -> Case:
    (case,) = cases_of(data)
    assert isinstance(case, Case)
    return case


def parts_of(data: bytes) -> list[Case | BrokenCase]:
    return list(Message(io.BytesIO(data)).parts())


def keep_texts(case: Case) -> list[str]:
    return [text.text for text in case.free_texts]


def mark_texts(case: Case) -> list[str]:
    return ["PHI" for _ in case.free_texts]


def a_year_later(date: DateElement) -> StampDate | None:
    if date.date is None:
        return None
    return StampDate(date.date.year + 1, date.date.month, date.date.day and min(date.date.day, 28))


def pseudonym(element: str, value: str) -> str:
    return f"ps-{element}-{sum(value.encode()) % 9999}"[:35]


REPLACEMENTS = Replacements(pseudonym=pseudonym, date_value=a_year_later)


@dataclass(frozen=True)
class TreatedCase:
    """One masked text for each free text of a case, and the values of its ids, dates and ages."""

    texts: Sequence[str]
    given: Replacements = field(default_factory=Replacements)


TreatCases = Callable[[Sequence[Case]], Sequence[TreatedCase]]


def mask_message(
    streams: tuple[BinaryIO, Writable], treat: TreatCases, profile: Profile, limits: Limits | None = None
) -> MessageReport:
    """Read a message and write it masked, case by case, as the engine does."""
    stream, target = streams
    source = ReportSource(Message(stream, limits), "message", profile)
    sink = source.sink(target)
    for record in source.records():
        if record.problem:
            sink.leave_out(record)
            continue
        (treated,) = treat([record.report])
        masked = [SimpleNamespace(text=text) for text in treated.texts]
        with suppress(RefusedRecordError):
            sink.write(replace(record, fields=treated.given), masked)
    sink.finish()
    return sink.report


def mask_reports(
    data: bytes, masker: DocumentMasker, profile: Profile, key: bytes
) -> tuple[bytes, MessageReport]:
    """Mask the texts and the fields of a message, as the engine does."""
    source, target = read_reports(io.BytesIO(data), ReadOptions(profile=profile), "cases.xml"), io.BytesIO()
    sink = source.sink(target)
    for record, masked in mask_with_fields(masker, list(source.records()), key, "PHI"):
        sink.write(record, masked)
    sink.finish()
    return target.getvalue(), sink.report


def treating(mask: Callable[[Case], list[str]], given: Replacements = REPLACEMENTS) -> TreatCases:
    """Masks the texts of one case after the other."""
    return lambda cases: [TreatedCase(mask(case), given) for case in cases]


def masked_file(
    data: bytes,
    profile: Profile = ALL_KEEP,
    mask: Callable[[Case], list[str]] = keep_texts,
    limits: Limits | None = None,
) -> tuple[bytes, MessageReport]:
    target = io.BytesIO()
    report = mask_message((io.BytesIO(data), target), treating(mask), profile, limits=limits)
    return target.getvalue(), report


def differences(before: etree._Element, after: etree._Element) -> set[tuple[int, str]]:
    """Which texts, tails and attributes differ between two trees of the same elements."""
    pairs = list(zip(before.iter(), after.iter(), strict=True))
    changed = set()
    for index, (old, new) in enumerate(pairs):
        assert old.tag == new.tag
        if (old.text or "") != (new.text or ""):
            changed.add((index, "text()"))
        if index and (old.tail or "") != (new.tail or ""):
            changed.add((index, "tail()"))
        for name in set(old.attrib) | set(new.attrib):
            if old.get(name) != new.get(name):
                changed.add((index, str(name)))
    return changed


def changed_elements(case: Case, after: etree._Element) -> set[str]:
    """Ids of the E2B elements whose XML element differs; everything else must be as it was."""
    changed = {index for index, _ in differences(case.node, after)}
    of_index = {value.index: value.element_id for value in case.values}
    assert changed <= set(of_index), "an element that holds no known value was changed"
    return {of_index[index] for index in changed}
