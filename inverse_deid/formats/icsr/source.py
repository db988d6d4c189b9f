"""Case safety reports (E2B) as a format: each case, and each part around the cases, is a record.

A case that cannot be read, or that the rule check refuses, is not written and is listed. The others are. The
parts around the cases of a batch are masked like cases. If one of them is refused, nothing more is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO

from inverse_deid.core.errors import ConfigurationError, RefusedRecordError, StageError
from inverse_deid.core.values import (
    MAX_KNOWN_VALUES,
    Document,
    KnownIdentifier,
    MaskedDocument,
    find_known_problem,
)
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.icsr.cases import Case, list_known_identifiers
from inverse_deid.formats.icsr.checks import Finding, Rule, check_case
from inverse_deid.formats.icsr.messages import BrokenCase, Message
from inverse_deid.formats.icsr.rewriting import Change, Done, Replacements
from inverse_deid.formats.icsr.standard.elements import elements
from inverse_deid.formats.icsr.standard.profiles import DEFAULT_PROFILE, Profile, builtin_profile
from inverse_deid.formats.icsr.survey import bare_path, find_unknown_names
from inverse_deid.formats.icsr.writing import MessageWriter
from inverse_deid.formats.records import ReadOptions, Record, Writable

_BATCH_NUMBER = "N.1.2"
MAX_CASES_LISTED = 1000
MAX_UNKNOWN_LISTED = 1000
_MAX_UNKNOWN_SHOWN = 3
_REMOVED = {
    Done.UNFIT: N_("value without the form of its E2B element"),
    Done.UNKNOWN: N_("element that E2B does not know"),
}
"""What the summary calls them."""


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """Why a case was not written."""

    number: int  # which case of the file, from 1; 0 = a part around the cases
    reason: str  # in words, without values
    findings: tuple[Finding, ...] = ()  # what the rule check found


@dataclass(slots=True)
class MessageReport:
    """What was done to one message."""

    profile: str  # its name
    n_cases: int = 0  # cases that were written
    n_problems: int = 0  # cases that were not written
    problems: list[CaseProblem] = field(default_factory=list)  # the first of them
    done: Counter[tuple[str, str, Done]] = field(default_factory=Counter)  # by element id, path and deed
    stripped: dict[str, int] = field(default_factory=dict)  # what was left out
    unknown: list[tuple[int, str, int | None]] = field(
        default_factory=list
    )  # case, path and line of the first

    def add(self, changes: Iterable[Change]) -> None:
        self.done.update((change.element, bare_path(change.path), change.done) for change in changes)

    @property
    def removed(self) -> dict[str, int]:
        """How many values and elements were left out because the standard does not have them."""
        counts = dict.fromkeys(_REMOVED.values(), 0)
        for (_ignored, _ignored_2, done), n in self.done.items():
            if done in _REMOVED:
                counts[_REMOVED[done]] += n
        return {kind: n for kind, n in counts.items() if n}

    def fail(self, problem: CaseProblem) -> None:
        self.n_problems += 1
        if len(self.problems) < MAX_CASES_LISTED:
            self.problems.append(problem)

    def as_json(self) -> dict[str, Any]:
        """Return the report for the run report; it has no value of any case."""
        return {
            "profile": self.profile,
            "n_cases": self.n_cases,
            "n_problems": self.n_problems,
            "problems": [_problem(problem) for problem in self.problems],
            "stripped": dict(sorted(self.stripped.items())),
            "unknown": [{"case": case, "path": path, "line": line} for case, path, line in self.unknown],
            "elements": [
                {
                    "element": element or None,
                    "name": elements()[element].name if element else None,
                    "path": path,
                    "done": done,
                    "n": n,
                }
                for (element, path, done), n in sorted(self.done.items())
            ],
        }


def _problem(problem: CaseProblem) -> dict[str, Any]:
    findings = [
        {"rule": finding.rule, "element": finding.element or None, "path": finding.path}
        for finding in problem.findings
    ]
    return {"case": problem.number, "reason": problem.reason, "findings": findings}


class ReportSource:
    """An open E2B message (a `Source`)."""

    unit = N_("case")
    resumable = False
    text_encoding = "utf-8"
    columns: Mapping[str, str] = MappingProxyType({})

    def __init__(self, message: Message, name: str, profile: Profile) -> None:
        self._message = message
        self._name = name
        self._profile = profile
        self._report: MessageReport | None = None

    @property
    def removed(self) -> Mapping[str, int]:
        """How many values and elements were left out, by kind; complete once all cases are written."""
        return {} if self._report is None else self._report.removed

    def records(self) -> Iterator[Record]:
        batch = ""
        for part in self._message.parts():
            if isinstance(part, BrokenCase):
                yield Record(part.number, problem=part.reason)
                continue
            batch = next((v.text for v in part.values if v.element_id == _BATCH_NUMBER), batch)
            # Secret shifts depend on this id: a part around the cases moves on its own.
            case_id = part.case_id or _(
                "case {number} without id of {name}", number=part.number, name=self._name
            )
            if not part.is_case:
                case_id = _("around the cases of {batch}", batch=batch or self._name)
            known = _collect_known(part)
            name = _("case {number}", number=part.number)
            docs = (Document(f"{name} {text.path}", text.text, known=known) for text in part.free_texts)
            yield Record(
                part.number,
                tuple(docs),
                problem=find_known_problem(known) if part.free_texts else "",
                case_id=case_id,
                report=part,
            )

    def sink(self, target: Writable, *, resumed: bool = False) -> ReportSink:
        sink = ReportSink(target, self._message, self._profile)
        self._report = sink.report
        return sink


class ReportSink:
    """Writes rewritten cases (a `Sink`) and counts what was done to them."""

    def __init__(self, target: Writable, message: Message, profile: Profile) -> None:
        self._message = message
        self._profile = profile
        self._writer = MessageWriter(target, message.frame)
        self.report = MessageReport(profile.name)

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write a case with its masked texts, checked as a recipient reads it.

        Raises:
            RefusedRecordError: The case must not be written.
            ConfigurationError: The profile asks for pseudonyms or dates, and there are none.
            StageError: A part around the cases must not be written.
        """
        part = record.report
        if part is None:
            raise StageError(_("record {number} is not a case safety report", number=record.number))
        result = self._rewrite(part, [one.text for one in masked], record.fields or Replacements())
        if isinstance(result, CaseProblem):
            if not part.is_case:
                raise StageError(_("the part around the cases was refused: {reason}", reason=result.reason))
            self.report.fail(result)
            raise RefusedRecordError(result.reason)
        data, changes = result
        self._writer.write(data)
        self.report.add(changes)
        if any(change.done is Done.UNKNOWN for change in changes):
            found = find_unknown_names(part.node, part.dialect.name)
            room = MAX_UNKNOWN_LISTED - len(self.report.unknown)
            self.report.unknown += [(part.number, one.path, one.line) for one in found[:room]]
        self.report.n_cases += part.is_case

    def leave_out(self, record: Record) -> None:
        """Note a case that cannot be written.

        Raises:
            StageError: It is a part around the cases.
        """
        if record.is_frame:
            raise StageError(_("the part around the cases was refused: {problem}", problem=record.problem))
        self.report.fail(CaseProblem(record.number, record.problem))

    def finish(self) -> None:
        self._writer.finish()
        self.report.stripped = asdict(self._message.stripped)

    def as_json(self) -> dict[str, Any]:
        """Return what was done, without values."""
        return self.report.as_json()

    def _rewrite(
        self, part: Case, texts: Sequence[str], given: Replacements
    ) -> tuple[bytes, tuple[Change, ...]] | CaseProblem:
        # A `CaseProblem` = it must not be written.
        try:
            rewritten = part.rewrite(texts, self._profile, given)
            data = self._writer.render(rewritten)
            findings = check_case(part, self._writer.read_again(data), self._profile, rewritten.allowed)
        except StageError as error:
            return CaseProblem(part.number, str(error))
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - fail closed; the message of the error may quote the case
            return CaseProblem(part.number, _("could not be rewritten ({name})", name=type(error).__name__))
        if not findings:
            return data, rewritten.changes
        rules = "; ".join(sorted({finding.rule for finding in findings}))
        if any(finding.rule == Rule.UNKNOWN_NAME for finding in findings):
            rules += _locate_unknown(part, self._profile)
        return CaseProblem(part.number, _("was refused by the rule check: {rules}", rules=rules), findings)


def _locate_unknown(part: Case, profile: Profile) -> str:
    # "" = not to be located.
    found = find_unknown_names(part.node, part.dialect.name)
    places = [_("{path} at line {line}", path=one.path, line=one.line) for one in found[:_MAX_UNKNOWN_SHOWN]]
    more = _(" and {n_found} more", n_found=len(found) - len(places)) if len(found) > len(places) else ""
    remedy = _('Correct the file, or use a profile with unknown = "drop"')
    if profile.unknown == "drop":
        remedy = _("Elements of the standard are in it, so it is not left out. Correct the file")
    return f" ({'; '.join(places)}{more}). {remedy}" if places else ""


def _collect_known(part: Case) -> tuple[KnownIdentifier, ...]:
    # No more than are needed to see that they are too many.
    found: dict[KnownIdentifier, None] = {}
    for identifier in list_known_identifiers(part):
        found[identifier] = None
        if len(found) > MAX_KNOWN_VALUES:
            break
    return tuple(found)


def read_reports(stream: BinaryIO, options: ReadOptions, name: str) -> ReportSource:
    """Open a message of one or more case safety reports; of the options only the profile matters.

    Raises:
        FormatError: Not XML, not E2B, or with declarations of entities.
        UnreadableInputError: Empty, or of an encoding that is not read or not the declared one.
    """
    return ReportSource(Message(stream), name, options.profile or builtin_profile(DEFAULT_PROFILE))
