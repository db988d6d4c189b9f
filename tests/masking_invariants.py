"""What must hold of every masked document, whatever its text, and the harness that checks it.

An invariant is broken or not; a figure (planted identifiers that leak) is counted. Neither shows text.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import numpy as np
from fuzzed_texts import ALLOWED, DENIED, FuzzedText

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import (
    Document,
    FloatArray,
    MaskedDocument,
    Reason,
    RuleAnalysis,
    RuleVerdicts,
    Tokens,
)
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, assemble
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages, mask_everything
from inverse_deid.replacement.dates.parts import ORDINALS, month_words
from inverse_deid.replacement.markers import category_marker
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode
from inverse_deid.replacement.surrogates.keyed import KeyedSurrogates
from inverse_deid.replacement.surrogates.reserved import GENERIC_WORDS
from inverse_deid.rules.medical_words import MedicalWords
from inverse_deid.text.matching import fold
from inverse_deid.text.rendering import ALLOWED_GAP_CHARACTERS, GAP_MARK, forbidden_gaps
from inverse_deid.text.tokenizer import tokenize

_WORD = re.compile(r"[^\W_]+")
_TELLING = re.compile(r"[^\W\d_]{3,}|\d{7,}")
"""What could be a name, or a number that identifies."""
_NAME = re.compile(r"(?!Prof|Miss)[A-Z][a-z]{3,}")
_WEEKDAYS = "mon monday tue tues tuesday wed wednesday thu thurs thursday fri friday sat saturday sun sunday"
_AGE_WORDS = (
    "year years yrs month months mos mth mths mnth mnths week weeks wks day days hour hours hrs old olds age male female man "
    "woman boy girl his her their the early mid late odd something and half hundred zero one two three four five six seven "
    "eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty "
    "sixty seventy eighty ninety twenties thirties forties fifties sixties seventies eighties nineties"
)
_KEEPING = (
    Reason.KEPT_SAFE_WORD,
    Reason.KEPT_BY_NETWORK,
    Reason.KEPT_ALLOW_LIST,
    Reason.KEPT_CLINICAL_FACT,
)
_WHOLLY_MASKED = (
    "phone",
    "e-mail",
    "date",
    "web address",
    "social security number",
    "digits",
    "glued digits",
)
"""Planted identifiers of which the rules mask every token."""

_LABEL_OF_LOT = re.compile(r"\b(?:lot|batch)\W{1,3}\Z", re.IGNORECASE)
_FICTIONAL_PHONE = re.compile(r"(?:0|44)(?:1632960|2079460|7700900)\d{,3}|1?\d{3}55501\d{,2}")
"""Numbers kept for fiction, in the United Kingdom and North America: others of them stand for them."""

_EVERY_ALONE = 16
_EVERY_COMPANY = 6
_EVERY_STAND_IN = 4
_EVERY_BROKEN_STAGE = 64
_LONG_SURNAME = 3
_KEY = b"an invented key of 27 bytes"


@dataclass(frozen=True)
class Seen:
    """A masked document and what the stages said of it.

    Args:
        doc: The original.
        masked: What the pipeline made of it.
        verdicts: Of the rules.
        p_safe: float32 (n_tokens,), of the network.
        canaries: Kind and range of what was planted.
        excused: Characters that read, with others, as a sign that may leave (`â€\ufffd`).
        signs: Characters at an end of what reads as a sign that may leave at this end: `Â` of `Â±` is no word.
    """

    doc: Document
    masked: MaskedDocument
    verdicts: RuleVerdicts = field(repr=False)
    p_safe: FloatArray = field(repr=False)
    canaries: tuple[tuple[str, int, int], ...] = ()
    excused: frozenset[int] = frozenset()
    signs: frozenset[int] = frozenset()

    @property
    def keep(self) -> np.ndarray:
        """Bool (n_tokens,)."""
        return self.masked.decisions.keep


def tokens_are_exact(seen: Seen) -> bool:
    """Tokens are the maximal runs of letters and digits of the untouched text."""
    found = [(match[0], *match.span()) for match in _WORD.finditer(seen.doc.text)]
    tokens = seen.masked.tokens
    ours = list(zip(tokens.words, tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
    return tokens.text == seen.doc.text and ours == found and len(seen.keep) == len(found)


def masks_are_in_order(seen: Seen) -> bool:
    """Masks and what stands for them are sorted, disjoint and inside their texts."""
    return _in_order(seen.masked.masks, len(seen.doc.text), 1) and _in_order(
        seen.masked.replaced, len(seen.masked.text), 0
    )


def _in_order(ranges: Sequence[tuple[int, int]], length: int, shortest: int) -> bool:
    position = 0
    for start, end in ranges:
        if start < position or end - start < shortest:
            return False
        position = end
    return position <= length


def rest_is_copied(seen: Seen) -> bool:
    """Outside of what was put in, the output is the original, character for character, in order."""
    masked, text = seen.masked, seen.doc.text
    if len(masked.masks) != len(masked.replaced):
        return False
    position = shown = 0
    for (start, end), (first, last) in zip(masked.masks, masked.replaced, strict=True):
        if masked.text[shown:first] != text[position:start]:
            return False
        position, shown = end, last
    return masked.text[shown:] == text[position:]


def only_kept_leaves(seen: Seen) -> bool:
    """Every character outside of a mask is of a kept token or allowed between tokens."""
    hidden = np.zeros(len(seen.doc.text) + 1, np.bool_)
    for start, end in seen.masked.masks:
        hidden[start:end] = True
    between = ~hidden
    tokens = seen.masked.tokens
    for start, end, keep in zip(
        tokens.starts.tolist(), tokens.ends.tolist(), seen.keep.tolist(), strict=True
    ):
        if keep and hidden[start:end].any():
            return False
        if not keep and not hidden[start:end].all():
            return False
        between[start:end] = False
    shown = set(np.flatnonzero(between[:-1]).tolist()) - seen.excused
    return {seen.doc.text[i] for i in shown} <= ALLOWED_GAP_CHARACTERS


def reasons_agree(seen: Seen) -> bool:
    """A token is kept if, and only if, its reason keeps."""
    return bool((np.isin(seen.masked.decisions.reasons, _KEEPING) == seen.keep).all())


def kept_reached_threshold(seen: Seen) -> bool:
    """What is kept reached its threshold, or the user's allow list says so."""
    decisions = seen.masked.decisions
    allowed = decisions.reasons == Reason.KEPT_ALLOW_LIST
    reached = (
        (decisions.p_safe >= decisions.thresholds) & (decisions.p_safe <= 1) & (decisions.thresholds > 0)
    )
    same = np.array_equal(decisions.p_safe, seen.p_safe, equal_nan=True)
    return same and bool((reached | allowed | ~seen.keep).all())


def rules_are_heeded(seen: Seen) -> bool:
    """Nothing is kept that the rules always mask; the allow list keeps its own words, and of them no date or contact."""
    verdicts, words = seen.verdicts, seen.masked.tokens.words
    by_list = seen.masked.decisions.reasons == Reason.KEPT_ALLOW_LIST
    if (seen.keep & (verdicts.never | verdicts.veto)).any() or (
        seen.keep & verdicts.always_masked & ~by_list
    ).any():
        return False
    return all(words[i].isalpha() and fold(words[i]) == ALLOWED for i in np.flatnonzero(by_list).tolist())


def no_forbidden_sign_touches_what_is_kept(seen: Seen) -> bool:
    """No token is kept beside a sign that may not leave; it may be a letter of the same word."""
    tokens, text = seen.masked.tokens, seen.doc.text
    starts, ends = tokens.starts[seen.keep].tolist(), tokens.ends[seen.keep].tolist()
    around = {start - 1 for start in starts if start not in seen.signs}
    around |= {end for end in ends if end - 1 not in seen.signs}
    around = {i for i in around if 0 <= i < len(text)} - seen.excused - seen.signs
    return {text[i] for i in around} <= ALLOWED_GAP_CHARACTERS


def titled_names_are_masked_everywhere(seen: Seen) -> bool:
    """A masked name with a title is masked wherever it has a capital."""
    words = seen.masked.tokens.words
    titled = np.flatnonzero(seen.verdicts.titled & ~seen.keep).tolist()
    names = {words[i].casefold() for i in titled if len(words[i]) >= _LONG_SURNAME and words[i].isalpha()}
    kept = np.flatnonzero(seen.keep & (seen.masked.decisions.reasons != Reason.KEPT_ALLOW_LIST)).tolist()
    return not any(words[i].casefold() in names and words[i][0].isupper() for i in kept)


def known_values_are_masked(seen: Seen) -> bool:
    """Known identifiers of four signs or more are masked where they stand as they are."""
    words = seen.masked.tokens.words
    for value in map(str, seen.doc.known):
        parts = _WORD.findall(value)
        if sum(map(len, parts)) < 4:
            continue
        for i in range(len(words) - len(parts) + 1):
            if words[i : i + len(parts)] == parts and seen.keep[i : i + len(parts)].any():
                return False
    return True


def contacts_are_masked(seen: Seen) -> bool:
    """Of a planted phone, address, date or social security number no token is kept.

    A letter with digits behind `lot` or `batch` is the number of a lot, which is a fact.
    """
    ends, starts = seen.masked.tokens.ends, seen.masked.tokens.starts
    spans = [
        (start, end)
        for kind, start, end in seen.canaries
        if kind in _WHOLLY_MASKED
        and not (kind == "glued digits" and _LABEL_OF_LOT.search(seen.doc.text, 0, start))
    ]
    return not any((seen.keep & (ends > start) & (starts < end)).any() for start, end in spans)


def output_can_be_written(seen: Seen) -> bool:
    """The output is valid UTF-8, whatever the input was."""
    try:
        seen.masked.text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def nothing_shows_text(seen: Seen) -> bool:
    """No word of four letters or more of the text is in what `repr` and `str` show."""
    telling = {word for word in seen.masked.tokens.words if len(word) >= 4}
    shown = _shown(seen.doc, seen.masked, seen.verdicts)
    return not (shown & telling) - _shown_of_nothing() - set(_WORD.findall(seen.doc.id))


def _shown(doc: Document, masked: MaskedDocument, verdicts: RuleVerdicts) -> set[str]:
    values = (doc, masked, masked.tokens, masked.decisions, verdicts)
    return set(_WORD.findall(" ".join(f"{value!r} {value}" for value in values)))


@lru_cache
def _shown_of_nothing() -> frozenset[str]:
    """The words that the values show of a document without text: names of fields."""
    doc, none = Document("0", ""), np.zeros(0, np.bool_)
    masked = mask_everything(doc, category_marker("PHI"))
    done = dataclasses.replace(masked, failed=False)
    verdicts = RuleVerdicts(*[none] * len(dataclasses.fields(RuleVerdicts)))
    return frozenset(_shown(doc, masked, verdicts) | _shown(doc, done, verdicts))


def stand_ins_repeat_nothing(seen: Seen) -> bool:
    """No name or long number that is masked is in what stands for masks, and no sign that may not leave."""
    masked, text = seen.masked, seen.doc.text
    shown = [masked.text[start:end] for start, end in masked.replaced]
    words = {fold(word) for word in _TELLING.findall("\n".join(shown))}
    hidden = _TELLING.findall("\n".join(text[start:end] for start, end in masked.masks))
    repeated = {
        fold(word) for word in hidden if not (word[0].islower() or _FICTIONAL_PHONE.fullmatch(word))
    } & words
    return not repeated - _plain_words() and not any(forbidden_gaps(one) for one in shown if one != GAP_MARK)


@lru_cache
def _plain_words() -> frozenset[str]:
    """Words of dates, ages, markers and addresses, which tell nobody's name."""
    statement = ("phi", "older", "earliest", "date", "text", "unk")  # unknown day: UNK-SEP-1940
    months = ("III", "VII", "VIII", "XII")  # in Roman numerals
    words = {
        *GENERIC_WORDS,
        *months,
        *month_words(),
        *ORDINALS,
        *_AGE_WORDS.split(),
        *_WEEKDAYS.split(),
        *statement,
    }
    return frozenset(map(fold, words))


def nothing_failed(seen: Seen) -> bool:
    """No stage failed; a document that failed would be masked whole."""
    return not seen.masked.failed


INVARIANTS: dict[str, Callable[[Seen], bool]] = {
    check.__name__: check
    for check in (
        tokens_are_exact,
        masks_are_in_order,
        rest_is_copied,
        only_kept_leaves,
        reasons_agree,
        kept_reached_threshold,
        rules_are_heeded,
        no_forbidden_sign_touches_what_is_kept,
        titled_names_are_masked_everywhere,
        known_values_are_masked,
        contacts_are_masked,
        output_can_be_written,
        stand_ins_repeat_nothing,
        nothing_shows_text,
        nothing_failed,
    )
}
"""What must hold of every document by itself."""

_STRUCTURE = (
    tokens_are_exact,
    masks_are_in_order,
    rest_is_copied,
    only_kept_leaves,
    reasons_agree,
    output_can_be_written,
    stand_ins_repeat_nothing,
)


class _Broken:
    """A stage that fails."""

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        raise RuntimeError("broken on purpose")

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        raise RuntimeError("broken on purpose")


@dataclass
class _Faulty:
    """A network whose answers are wrong in one way."""

    scorer: _Recorded
    way: int

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        found = self.scorer.score(tokens, analyses)
        match self.way:
            case 0:
                return found[:-1]
            case 1:
                return [Scores(one.p_safe[:-1], one.categories[:-1]) for one in found]
            case 2:
                return [Scores(np.full_like(one.p_safe, np.nan), one.categories) for one in found]
            case 3:
                return [Scores(np.full_like(one.p_safe, np.inf), one.categories) for one in found]
            case 4:
                return [Scores(np.full_like(one.p_safe, -1.0), one.categories) for one in found]
        return [Scores(one.p_safe + 1.5, one.categories) for one in found]


_N_FAULTS = 6


@dataclass
class _Recorded:
    """Rules and network that note what they answer, and answer the same again without working."""

    stages: Stages
    analyses: dict[str, RuleAnalysis] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)
    answers_again: bool = False

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        if self.answers_again:
            return [self.analyses[one.text] for one in tokens]
        found = self.stages.analyser.analyse_many(tokens)
        self.analyses.update(zip([one.text for one in tokens], found, strict=True))
        return found

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        if self.answers_again:
            return [self.scores[one.text] for one in tokens]
        if self.stages.scorer is None:
            raise RuntimeError("the harness needs a network")
        found = self.stages.scorer.score(tokens, analyses)
        self.scores.update(zip([one.text for one in tokens], found, strict=True))
        return found


@dataclass
class Findings:
    """What was checked and what was found; holds no text.

    Args:
        checked: How many times each invariant was checked.
        broken: The indices of documents that broke an invariant, by its name.
        figures: Counts of planted identifiers and what became of them.
        slowest: Seconds, characters and first index of the slowest batch.
    """

    checked: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[int]] = field(default_factory=dict)
    figures: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int, int] = (0.0, 0, 0)

    def note(self, invariant: str, index: int, holds: bool) -> None:
        """Count one check."""
        self.checked[invariant] += 1
        if not holds:
            self.broken.setdefault(invariant, []).append(index)

    def add(self, other: Findings) -> None:
        """Take in what another part found."""
        self.checked += other.checked
        self.figures += other.figures
        for invariant, indices in other.broken.items():
            self.broken.setdefault(invariant, []).extend(indices)
        self.slowest = max(self.slowest, other.slowest)


class Harness:
    """Masks fuzzed documents with the packaged model and checks all that must hold."""

    def __init__(self) -> None:
        assembly = assemble(MaskingSettings(n_threads=1))
        self.stages = assembly.stages
        self.real = Deidentifier(self.stages)
        self.recorded = _Recorded(self.stages)
        stages = dataclasses.replace(self.stages, analyser=self.recorded, scorer=self.recorded)
        self.noting_stages = stages
        self.noting = Deidentifier(stages)
        self.categories = Deidentifier(dataclasses.replace(stages, marker_for=category_marker("PHI")))
        self.listing = Deidentifier(
            dataclasses.replace(stages, deny=PhraseList([DENIED]), allow=PhraseList([ALLOWED]))
        )
        self.stricter = [
            Deidentifier(dataclasses.replace(stages, thresholds=assemble_thresholds(point)))
            for point in ("strict", "lenient")
        ]
        surrogates = KeyedSurrogates(_KEY, MedicalWords(load_lexicon()).among)
        self.case_maskers = {
            mode: CaseMasker(
                self.noting,
                CaseSettings(today=date(2026, 1, 1), dates=mode, ages=AgeMode.KEEP_UNDER_90, key=_KEY),
                surrogates if mode is not DateMode.YEAR else None,
            )
            for mode in DateMode
        }

    def check(self, fuzzed: Sequence[FuzzedText]) -> Findings:
        """Mask a batch and check it. An exception is a broken invariant, too."""
        findings = Findings()
        self.recorded.analyses.clear()
        self.recorded.scores.clear()
        self.recorded.answers_again = False
        docs = [Document(f"fuzzed-{one.index}", one.text, known=one.known) for one in fuzzed]
        began = time.perf_counter()
        try:
            masked = self.noting.mask_many(docs)
        except Exception:  # noqa: BLE001 - it must never raise
            findings.note("mask_many_never_raises", fuzzed[0].index, False)
            return findings
        n_characters = sum(len(one.text) for one in fuzzed)
        findings.slowest = (time.perf_counter() - began, n_characters, fuzzed[0].index)
        self.recorded.answers_again = True
        for one, doc, found in zip(fuzzed, docs, masked, strict=True):
            if found.failed:
                findings.note("nothing_failed", one.index, False)
                continue
            seen = Seen(
                doc,
                found,
                self._verdicts(doc),
                self.recorded.scores[doc.text].p_safe
                if doc.text in self.recorded.scores
                else found.decisions.p_safe,
                tuple((canary.kind, canary.start, canary.end) for canary in one.canaries),
                *self._excused(doc),
            )
            for name, invariant in INVARIANTS.items():
                findings.note(name, one.index, _holds(invariant, seen))
            _count_leaks(seen, findings.figures)
        pairs = [
            (one.index, doc, found)
            for one, doc, found in zip(fuzzed, docs, masked, strict=True)
            if not found.failed
        ]
        for comparison in (
            self._alone,
            self._in_company,
            self._stand_ins,
            self._lists,
            self._operating_points,
            self._broken_stages,
        ):
            comparison(pairs, findings)
        return findings

    def _excused(self, doc: Document) -> tuple[frozenset[int], frozenset[int]]:
        """See `excused` and `signs` of `Seen`."""
        (reading,) = self.stages.read_all([doc.text])
        if reading is None:
            return frozenset(), frozenset()
        harmful = {i for start, end in reading.harmful() for i in range(start, end)}
        signs = set()
        for (start, end), (begin, stop) in zip(reading.edited, reading.edits, strict=True):
            read = reading.text[begin:stop]
            signs |= set(range(start, end)) if ALLOWED_GAP_CHARACTERS.issuperset(read) else set()
            signs |= {start} if ALLOWED_GAP_CHARACTERS.issuperset(read[:1]) else set()
            signs |= {end - 1} if ALLOWED_GAP_CHARACTERS.issuperset(read[-1:]) else set()
        covered = frozenset(np.flatnonzero(reading.covered()).tolist())
        return covered - harmful, frozenset(signs)

    def _verdicts(self, doc: Document) -> RuleVerdicts:
        """The verdicts on the tokens of a document; any on a token of its reading holds for those it covers."""
        if doc.text in self.recorded.analyses:
            return self.recorded.analyses[doc.text].verdicts
        (reading,) = self.stages.read_all([doc.text])
        verdicts = self.recorded.analyses[reading.text].verdicts
        starts, ends = reading.originals(tokenize(reading.text))
        tokens = tokenize(doc.text)
        places = list(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
        columns = [getattr(verdicts, column.name) for column in dataclasses.fields(RuleVerdicts)]
        return RuleVerdicts(
            *(
                np.array(
                    [bool((column & (starts < end) & (ends > start)).any()) for start, end in places],
                    np.bool_,
                )
                for column in columns
            )
        )

    def _alone(self, pairs: Pairs, findings: Findings) -> None:
        """A document alone gives the bytes that it gave among others."""
        for index, doc, found in pairs:
            if index % _EVERY_ALONE == 0:
                findings.note("alone_as_in_a_batch", index, _same(self.real.mask(doc), found))

    def _in_company(self, pairs: Pairs, findings: Findings) -> None:
        """So does one among fewer, in another order."""
        chosen = [pair for pair in reversed(pairs) if pair[0] % _EVERY_COMPANY == 1]
        again = self.real.mask_many([doc for _, doc, _ in chosen])
        for (index, _, found), other in zip(chosen, again, strict=True):
            findings.note("whatever_the_company", index, _same(other, found))

    def _stand_ins(self, pairs: Pairs, findings: Findings) -> None:
        """Categories hide what markers hide; dates, ages and surrogates hide at least that."""
        chosen = [pair for pair in pairs if pair[0] % _EVERY_STAND_IN == 0]
        for (index, _, found), other in zip(
            chosen, self.categories.mask_many([doc for _, doc, _ in chosen]), strict=True
        ):
            same = other.masks == found.masks and np.array_equal(other.decisions.keep, found.decisions.keep)
            findings.note("categories_mask_the_same", index, same)
        modes = list(self.case_maskers)
        for index, doc, found in chosen:
            mode = modes[index // _EVERY_STAND_IN % len(modes)]
            other = self.case_maskers[mode].mask_many([doc])[0]
            hides = not (other.decisions.keep & ~found.decisions.keep).any()
            findings.note(f"stand_ins_reveal_nothing ({mode})", index, hides and self._is_whole(doc, other))
            findings.note(f"stand_ins_do_not_fail ({mode})", index, not other.is_plain)

    def _is_whole(self, doc: Document, masked: MaskedDocument) -> bool:
        excused, signs = self._excused(doc)
        seen = Seen(
            doc,
            masked,
            self._verdicts(doc),
            masked.decisions.p_safe,
            excused=excused,
            signs=signs,
        )
        return all(_holds(invariant, seen) for invariant in _STRUCTURE)

    def _lists(self, pairs: Pairs, findings: Findings) -> None:
        """Words of the deny list are masked; the allow list keeps no digit and nothing that the rules veto."""
        chosen = [pair for pair in pairs if ALLOWED in pair[1].text.casefold() or DENIED in pair[1].text]
        for (index, doc, _), other in zip(
            chosen, self.listing.mask_many([doc for _, doc, _ in chosen]), strict=True
        ):
            denied = [fold(word) == fold(DENIED) for word in other.tokens.words]
            masked = not (other.decisions.keep & np.array(denied, np.bool_)).any()
            excused, signs = self._excused(doc)
            p_safe = other.decisions.p_safe
            seen = Seen(doc, other, self._verdicts(doc), p_safe, excused=excused, signs=signs)
            heeded = all(
                _holds(invariant, seen)
                for invariant in (*_STRUCTURE, rules_are_heeded, kept_reached_threshold)
            )
            findings.note("lists_are_heeded", index, masked and heeded)

    def _operating_points(self, pairs: Pairs, findings: Findings) -> None:
        """Strict keeps nothing that balanced masks, and balanced nothing that lenient masks."""
        docs = [doc for _, doc, _ in pairs]
        strict, lenient = (masker.mask_many(docs) for masker in self.stricter)
        for (index, _, found), more, less in zip(pairs, strict, lenient, strict=True):
            kept = (more.decisions.keep, found.decisions.keep, less.decisions.keep)
            findings.note(
                "stricter_keeps_less",
                index,
                not (kept[0] & ~kept[1]).any() and not (kept[1] & ~kept[2]).any(),
            )

    def _broken_stages(self, pairs: Pairs, findings: Findings) -> None:
        """If a stage fails, or answers nonsense, nothing is kept but what the user's list keeps."""
        for index, doc, _ in pairs:
            if index % _EVERY_BROKEN_STAGE or not doc.text:
                continue
            way = index // _EVERY_BROKEN_STAGE % (_N_FAULTS + 2)
            broken: dict[str, object] = {"scorer": _Faulty(self.recorded, way)}
            if way >= _N_FAULTS:
                broken = {"analyser": _Broken()} if way == _N_FAULTS else {"scorer": _Broken()}
            stages = dataclasses.replace(self.noting_stages, **broken)
            masked = Deidentifier(stages).mask(doc)
            whole = not masked.decisions.keep.any() and self._is_whole(doc, masked)
            findings.note("broken_stages_mask_all", index, whole)


Pairs = Sequence[tuple[int, Document, MaskedDocument]]


def assemble_thresholds(operating_point: str) -> Thresholds:
    """The thresholds of an operating point of the packaged model."""
    return assemble(MaskingSettings(operating_point=operating_point)).stages.thresholds


def _holds(invariant: Callable[[Seen], bool], seen: Seen) -> bool:
    try:
        return invariant(seen)
    except Exception:  # noqa: BLE001 - what cannot be checked does not hold
        return False


def _same(one: MaskedDocument, other: MaskedDocument) -> bool:
    return (
        one.text == other.text
        and one.masks == other.masks
        and one.replaced == other.replaced
        and np.array_equal(one.decisions.reasons, other.decisions.reasons)
    )


def _count_leaks(seen: Seen, figures: Counter[str]) -> None:
    tokens, keep = seen.masked.tokens, seen.keep
    figures["documents"] += 1
    figures["characters"] += len(seen.doc.text)
    figures["tokens"] += len(keep)
    figures["tokens kept"] += int(keep.sum())
    for kind, start, end in seen.canaries:
        of = (tokens.ends > start) & (tokens.starts < end)
        if "name" in kind:
            of &= np.array([_NAME.fullmatch(word) is not None for word in tokens.words], np.bool_)
        figures[f"planted: {kind}"] += 1
        figures[f"leaked in part: {kind}"] += bool((keep & of).any())
        figures[f"leaked in full: {kind}"] += bool(keep[of].all())
