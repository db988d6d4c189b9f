"""A whole message, case by case: read, masked, rewritten, checked, written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import BinaryIO

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.checks import check_case
from inverse_deid.formats.icsr.messages import BrokenCase, Limits, Message
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.icsr.report import CaseProblem, MessageReport
from inverse_deid.formats.icsr.rewriting import Change, Replacements
from inverse_deid.formats.icsr.writing import MessageWriter
from inverse_deid.formats.records import Writable

BATCH_CHARS = 400_000
BATCH_NODES = 100_000
"""What goes into one batch of the masker at most, but for a single larger case."""


@dataclass(frozen=True, slots=True)
class TreatedCase:
    """What the masker made of a case.

    Args:
        texts: One masked text for each of its free texts.
        given: Its pseudonyms and dates.
        problem: Why the case must not be written, "" = it may.
    """

    texts: Sequence[str] = field(repr=False)
    given: Replacements = field(default_factory=Replacements)
    problem: str = ""


_Ready = tuple[bytes, tuple[Change, ...]]
"""A part as it is written, and what was done."""

Part = Case | BrokenCase
"""A part of a message, or what is known of one that cannot be read."""

TreatCases = Callable[[Sequence[Case]], Sequence[TreatedCase]]
"""From cases (and what stands around them) to what the masker makes of each."""

TreatBatches = Callable[[Iterable[Sequence[Case]]], Iterator[Sequence[TreatedCase]]]
"""The same for batches of cases, in their order; it may read some batches ahead."""

OnPart = Callable[[Part, CaseProblem | None], None]
"""Told of every part that was written or, with a problem, not."""


def mask_message(
    streams: tuple[BinaryIO, Writable],
    treat: TreatCases,
    profile: Profile,
    *,
    on_part: OnPart = lambda part, problem: None,
    limits: Limits | None = None,
) -> MessageReport:
    """Read a message and write it masked, a batch of cases in memory at a time; see `mask_batches`."""
    return mask_batches(streams, lambda batches: map(treat, batches), profile, on_part=on_part, limits=limits)


def mask_batches(
    streams: tuple[BinaryIO, Writable],
    treat: TreatBatches,
    profile: Profile,
    *,
    on_part: OnPart = lambda part, problem: None,
    limits: Limits | None = None,
) -> MessageReport:
    """Read a message and write it masked, batch by batch of cases.

    A case that cannot be read, or that the rule check refuses, is not written and is listed; the
    others are. What stands around the cases is treated like a case; if it is refused, nothing
    more is written.

    Args:
        streams: Where the message is read from, and where it is written to.
        treat: Masks the free texts of cases; is also asked for what stands around them.
        profile: What happens to the structured fields.
        on_part: Is told of every part.
        limits: What one case may be.

    Raises:
        InputError: The file cannot be used at all.
        ConfigurationError: The profile asks for pseudonyms or dates and there is no source of them.
        StageError: What stands around the cases cannot be written as the profile asks, or `treat`
            gave back another number of cases.
    """
    source, target = streams
    message = Message(source, limits)
    writer = MessageWriter(target, message.frame)
    report = MessageReport(profile.name)
    for batch, treated in _treated(_batches(message.parts()), treat):
        for part, result in _results(batch, treated, profile, writer):
            problem = result if isinstance(result, CaseProblem) else None
            if not isinstance(result, CaseProblem):
                data, changes = result
                writer.write(data)
                report.add(changes)
                report.n_cases += isinstance(part, Case) and part.is_case
            elif isinstance(part, Case) and not part.is_case:
                raise StageError(f"what stands around the cases was refused: {result.reason}")
            else:
                report.fail(result)
            on_part(part, problem)
    writer.finish()
    report.stripped = asdict(message.stripped)
    return report


def _batches(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Parts whose texts go into the masker together."""
    batch: list[Part] = []
    n_chars = n_nodes = 0
    for part in parts:
        batch.append(part)
        if isinstance(part, Case):
            n_chars += sum(len(value.text) for value in part.values)
            n_nodes += part.n_nodes
        if n_chars >= BATCH_CHARS or n_nodes >= BATCH_NODES:
            yield batch
            batch, n_chars, n_nodes = [], 0, 0
    if batch:
        yield batch


def _treated(
    batches: Iterable[list[Part]], treat: TreatBatches
) -> Iterator[tuple[list[Part], Sequence[TreatedCase]]]:
    """Each batch with what the masker made of its cases."""
    taken: deque[list[Part]] = deque()

    def cases() -> Iterator[list[Case]]:
        for batch in batches:
            taken.append(batch)
            yield [part for part in batch if isinstance(part, Case)]

    for treated in treat(cases()):
        if not taken:
            raise StageError("more batches of cases came out of the masker than went in")
        yield taken.popleft(), treated
    if taken:
        raise StageError("fewer batches of cases came out of the masker than went in")


def _results(
    batch: Sequence[Part], treated: Sequence[TreatedCase], profile: Profile, writer: MessageWriter
) -> Iterator[tuple[Part, _Ready | CaseProblem]]:
    """Each part of a batch, ready to be written, or why it is not."""
    n_cases = sum(isinstance(part, Case) for part in batch)
    if len(treated) != n_cases:
        raise StageError(f"{n_cases} cases went into the masker and {len(treated)} came out")
    results = iter(treated)
    for part in batch:
        if isinstance(part, BrokenCase):
            yield part, CaseProblem(part.number, str(part.error))
        else:
            yield part, _rewritten(part, next(results), profile, writer)


def _rewritten(
    part: Case, treated: TreatedCase, profile: Profile, writer: MessageWriter
) -> _Ready | CaseProblem:
    """The rewritten case, checked as a recipient reads it, or why there is none."""
    given = treated.given
    if treated.problem:
        return CaseProblem(part.number, treated.problem)
    try:
        rewritten = part.rewritten(
            treated.texts,
            profile,
            given.pseudonym,
            given.date_value,
            age_value=given.age_value,
            marker=given.marker,
        )
        data = writer.rendered(rewritten)
        findings = check_case(part, writer.read_again(data), profile, rewritten.allowed)
    except StageError as error:
        return CaseProblem(part.number, str(error))
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001 - fail closed; the message of the error may quote the case
        return CaseProblem(part.number, f"could not be rewritten ({type(error).__name__})")
    if not findings:
        return data, rewritten.changes
    rules = "; ".join(sorted({finding.rule for finding in findings}))
    return CaseProblem(part.number, f"was refused by the rule check: {rules}", findings)
