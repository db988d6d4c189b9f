"""A whole message, case by case: read, masked, rewritten, checked, written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import BinaryIO

from inverse_deid.core.errors import StageError
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.checks import check_case
from inverse_deid.formats.icsr.messages import BrokenCase, Limits, Message
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.icsr.report import CaseProblem, MessageReport
from inverse_deid.formats.icsr.rewriting import Replacements, Rewritten
from inverse_deid.formats.icsr.writing import MessageWriter
from inverse_deid.formats.records import Writable

MaskTexts = Callable[[Case], Sequence[str]]
"""From a case to one masked text for each of its free texts."""


def mask_message(
    streams: tuple[BinaryIO, Writable],
    mask: MaskTexts,
    profile: Profile,
    *,
    replacements_for: Callable[[Case], Replacements] = lambda case: Replacements(),
    limits: Limits | None = None,
) -> MessageReport:
    """Read a message and write it masked, one case in memory at a time.

    A case that cannot be read, or that the rule check refuses, is not written and is listed; the
    others are. What stands around the cases is treated like a case; if it is refused, nothing
    more is written.

    Args:
        streams: Where the message is read from, and where it is written to.
        mask: Masks the free texts of a case.
        profile: What happens to the structured fields.
        replacements_for: Pseudonyms and dates of a case; is also asked for what stands around the cases.
        limits: What one case may be.

    Raises:
        InputError: The file cannot be used at all.
        ConfigurationError: The profile asks for pseudonyms or dates and there is no source of them.
        StageError: What stands around the cases cannot be written as the profile asks.
    """
    source, target = streams
    message = Message(source, limits)
    writer = MessageWriter(target, message.frame)
    report = MessageReport(profile.name)
    for part in message.parts():
        if isinstance(part, BrokenCase):
            report.fail(CaseProblem(part.number, str(part.error)))
            continue
        rewritten = _rewritten(part, mask, profile, replacements_for(part))
        if isinstance(rewritten, CaseProblem):
            if not part.is_case:
                raise StageError(f"what stands around the cases was refused: {rewritten.reason}")
            report.fail(rewritten)
            continue
        writer.write(rewritten)
        report.add(rewritten.changes)
        report.n_cases += part.is_case
    writer.finish()
    report.stripped = asdict(message.stripped)
    return report


def _rewritten(part: Case, mask: MaskTexts, profile: Profile, given: Replacements) -> Rewritten | CaseProblem:
    """The rewritten case, or why there is none."""
    try:
        rewritten = part.rewritten(
            mask(part), profile, given.pseudonym, given.date_value, marker=given.marker
        )
    except StageError as error:
        return CaseProblem(part.number, str(error))
    findings = check_case(part, rewritten.node, profile)
    if not findings:
        return rewritten
    rules = "; ".join(sorted({finding.rule for finding in findings}))
    return CaseProblem(part.number, f"was refused by the rule check: {rules}", findings)
