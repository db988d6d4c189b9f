"""The `Deidentifier`: runs the stages and owns the one fail-closed rule.

Everything starts masked. A stage that fails, or breaks its contract, costs the document its text,
never its privacy: the document is returned with every token masked and `failed` set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import StageError
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import (
    BoolArray,
    Decisions,
    Document,
    FloatArray,
    MaskedDocument,
    Reason,
    RuleAnalysis,
    RuleVerdicts,
    Tokens,
)
from inverse_deid.core.wording import _
from inverse_deid.masking.combine import combine, decide_without_network, log_densities
from inverse_deid.masking.document_passes import (
    PhraseList,
    apply_allow_list,
    mask_joined_parts,
    mask_more,
    mask_names_everywhere,
    mask_origins,
    mask_phrases,
)
from inverse_deid.masking.kept_categories import (
    keep_years_alone,
    mask_births_and_high_ages,
    mask_words_of_others,
)
from inverse_deid.masking.original_tokens import decide_on_original, hide_gaps
from inverse_deid.masking.sections import (
    SECTION_TOKENS,
    SECTIONS_AT_ONCE,
    cut,
    join_analyses,
    own_of_analysis,
)
from inverse_deid.replacement.markers import MarkerFor
from inverse_deid.rules.known_identifiers import KnownIdentifiers
from inverse_deid.text.reading import Reading
from inverse_deid.text.rendering import render
from inverse_deid.text.tokenizer import Part, join, tokenize, tokenize_many, tokens_touched

PART_TOKENS = 4096
"""About how many tokens the stages take at a time: each array operation serves them all."""
_N_AHEAD = 2
"""How many parts are begun before the first is finished."""


class Analyser(Protocol):
    """The rules."""

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        """Return features and verdicts of every token of every document."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What the network says about the tokens of one document."""

    p_safe: FloatArray = field(repr=False)  # (n_tokens,), probability of *safe*
    categories: npt.NDArray[np.uint8] = field(repr=False)  # (n_tokens,), most probable `HyperClass`
    p_classes: FloatArray | None = field(default=None, repr=False)
    """(n_tokens, 8), probability of every `HyperClass` in its order; None = not known, so nothing is kept
    because of its category."""


class TokenScorer(Protocol):
    """The network."""

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        """Return the scores of every token of every document."""
        ...


@runtime_checkable
class EarlyScorer(TokenScorer, Protocol):
    """A network that reads in the background."""

    def begin(
        self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]
    ) -> Callable[[], Sequence[Scores]]:
        """Begin to score, and return a function that waits for the scores."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a `Deidentifier` runs."""

    analyser: Analyser  # the rules
    scorer: TokenScorer | None  # the network; None decides by the rules alone
    thresholds: Thresholds  # of the adaptive threshold
    marker_for: MarkerFor  # gives the marker of each mask
    allow: PhraseList = field(default_factory=lambda: PhraseList(()))  # words that the user keeps
    deny: PhraseList = field(default_factory=lambda: PhraseList(()))  # words and phrases that the user masks
    kept: frozenset[HyperClass] = frozenset()  # classes that the user keeps; the analyser knows them as well
    keeps_years: bool = False  # whether years without day and month are kept, as Safe Harbor permits
    # Finds words of origin to mask; None = they are judged as any other word.
    origins: Callable[[Tokens], BoolArray] | None = None
    # Tells whether a word, in any case, is common; a common word is not masked only because it resembles a
    # known identifier.
    is_common_word: Callable[[str], bool] = lambda word: False
    between_batches: Callable[[], None] = lambda: None  # called after every batch; keeps caches within bounds
    # Returns the reading of a text, None = it reads as it is written.
    read: Callable[[str], Reading | None] = lambda text: None

    def read_all(self, texts: Sequence[str]) -> list[Reading | None]:
        """Return the reading of each text, None = it reads as it is written, or cannot be mended."""
        return [self._read_one(text) for text in texts]

    def _read_one(self, text: str) -> Reading | None:
        try:
            return self.read(text)
        except Exception:  # noqa: BLE001 - what cannot be mended is read, and masked, as it is written
            return None


class Deidentifier:
    """Masks documents.

    Example:
        >>> from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
        >>> deidentifier = build_deidentifier(MaskingSettings())
        >>> deidentifier.mask(Document("1", "Mr. Okonkwo had a rash.")).text
        'Mr. PHI had a rash.'
    """

    def __init__(
        self, stages: Stages, fingerprint: str = "", made_of: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        self._stages = stages
        self.fingerprint = fingerprint
        self.made_of = dict(made_of)

    def mask(self, doc: Document) -> MaskedDocument:
        """Mask one document; see `mask_many`."""
        return self.mask_many([doc])[0]

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask a batch of documents, in order.

        Never raises for a document: one that fails is returned fully masked, with `failed` set, and
        does not harm the others.
        """
        try:
            masked = self._mask_batch(docs)
        except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
            masked = [self._mask_alone(doc) for doc in docs]
        self._stages.between_batches()
        return masked

    def _mask_alone(self, doc: Document) -> MaskedDocument:
        try:
            return self._mask_batch([doc])[0]
        except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
            return mask_everything(doc, self._stages.marker_for)

    def _mask_batch(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        readings = self._stages.read_all([doc.text for doc in docs])
        tokens = tokenize_many(choose_texts(docs, readings))
        known = {
            values: KnownIdentifiers(values, self._stages.is_common_word)
            for values in {doc.known for doc in docs if doc.known}
        }
        masked: dict[int, MaskedDocument] = {}
        for part in self._begin_ahead(tokens):
            given = {number: docs[row].names for number, row in enumerate(part.rows) if docs[row].names}
            decided = deque(zip(part.rows, part.analyses, self._decide(part, given), strict=True))
            # Of a long document, all that was found takes more than its text. It goes as soon as it can.
            del part
            while decided:
                row, analysis, decisions = decided.popleft()
                identifiers = known.get(docs[row].known)
                seen = _Seen(docs[row], readings[row], tokens[row], identifiers, analysis.other_language)
                decisions = self._pass_reading(seen, analysis.verdicts, decisions)
                del analysis
                passed = self._pass_original(seen, decisions)
                tokens[row], readings[row] = passed.tokens, None
                del seen, decisions
                masked[row] = self._render(docs[row], passed)
        return [masked[row] for row in range(len(docs))]

    def _begin_ahead(self, tokens: Sequence[Tokens]) -> Iterator[_Part]:
        # While the network reads one, the rules read the next.
        waiting: deque[_Part] = deque()
        for rows in split_by_length(tokens):
            waiting.append(self._begin(rows, Part(tokens[row] for row in rows)))
            if len(waiting) > _N_AHEAD:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()

    def _begin(self, rows: Sequence[int], tokens: Sequence[Tokens]) -> _Part:
        if len(tokens) == 1 and len(tokens[0]) > SECTION_TOKENS:
            return self._read_long(rows, tokens)
        return _Part(rows, tokens, *self._read(tokens))

    def _read(
        self, tokens: Sequence[Tokens]
    ) -> tuple[list[RuleAnalysis], Callable[[], Sequence[Scores] | None]]:
        analyses = self._stages.analyser.analyse_many(tokens)
        scorer = self._stages.scorer
        if isinstance(scorer, EarlyScorer):
            return analyses, scorer.begin(tokens, analyses)
        scores = None if scorer is None else scorer.score(tokens, analyses)
        return analyses, lambda: scores

    def _read_long(self, rows: Sequence[int], tokens: Sequence[Tokens]) -> _Part:
        """Read a document in sections. Of features and classes only what decides is kept.

        The documents of a batch are read from the longest to the shortest. So no shorter one has numbers of
        words that `between_batches` could change.
        """
        analyses: list[RuleAnalysis] = []
        scores: list[Scores] = []
        sections = cut(tokens[0])
        while group := list(islice(sections, SECTIONS_AT_ONCE)):
            for (section, own), (found, wait) in [(one, self._read([one[0]])) for one in group]:
                join_verdicts([section], [one.verdicts for one in found])
                analyses.append(own_of_analysis(found[0], own))
                if (of_section := wait()) is not None:
                    join_scores([section], of_section)
                    join_kept([section], of_section, self._stages.kept)
                    scores.append(_own_of_scores(of_section[0], own, with_classes=bool(self._stages.kept)))
            self._stages.between_batches()
        joined = [_join_sections(scores)] if scores else None
        # A plain list: the tokens in one row are as large again, and are not needed for long.
        return _Part(rows, list(tokens), [join_analyses(analyses)], lambda: joined)

    def _decide(self, part: _Part, given: Mapping[int, frozenset[str]]) -> list[Decisions]:
        """Apply the adaptive threshold and the passes that need only it, to all documents of a part.

        Args:
            part: The documents.
            given: Names that other texts of a case have, by the number of the document in the part.
        """
        tokens = join(part.tokens)
        verdicts = join_verdicts(part.tokens, [analysis.verdicts for analysis in part.analyses])
        scores = part.scores()
        if scores is None:
            decisions = decide_without_network(verdicts)
        else:
            p_safe, categories = join_scores(part.tokens, scores)
            decisions = combine(
                verdicts,
                p_safe,
                categories,
                self._stages.thresholds,
                densities=log_densities(p_safe, tokens.bounds.tolist())[tokens.doc],
                p_kept=join_kept(part.tokens, scores, self._stages.kept),
            )
            if self._stages.kept:
                decisions = self._mask_firmly(part.tokens, tokens.slices(), verdicts, decisions)
            if self._stages.keeps_years:
                decisions = _by_document(keep_years_alone, part.tokens, tokens.slices(), decisions)
            decisions = mask_names_everywhere(tokens, verdicts, decisions, given)
            decisions = mask_joined_parts(tokens, decisions)
        return [decisions.of(one) for one in tokens.slices()]

    def _mask_firmly(
        self,
        tokens: Sequence[Tokens],
        slices: Iterable[slice],
        verdicts: RuleVerdicts,
        decisions: Decisions,
    ) -> Decisions:
        # What no choice of categories keeps, or not this one.
        keep, reasons = decisions.keep.copy(), decisions.reasons.copy()
        for one, of in zip(tokens, slices, strict=True):
            masked = mask_births_and_high_ages(one, decisions.of(of))
            masked = mask_words_of_others(one, verdicts.plain[of], masked, self._stages.kept)
            keep[of], reasons[of] = masked.keep, masked.reasons
        return replace(decisions, keep=keep, reasons=reasons)

    def _pass_reading(self, seen: _Seen, verdicts: RuleVerdicts, decisions: Decisions) -> Decisions:
        """Apply the passes over a whole document to the tokens of its reading."""
        doc, tokens = seen.doc, seen.tokens
        if len(decisions) != len(tokens):
            raise StageError(
                _(
                    "document {id}: {n_decisions} decisions for {n_tokens} tokens",
                    id=doc.id,
                    n_decisions=len(decisions),
                    n_tokens=len(tokens),
                )
            )
        if self._stages.origins is not None:
            decisions = mask_origins(decisions, self._stages.origins(tokens))
        decisions = apply_allow_list(tokens, self._stages.allow, verdicts, decisions)
        return self._mask_listed(seen, tokens, decisions)

    def _pass_original(self, seen: _Seen, decisions: Decisions) -> _Passed:
        """Apply the passes over a whole document to the tokens of its original."""
        doc, tokens, gaps = seen.doc, seen.tokens, None
        if seen.reading is not None:
            original = tokenize_many([doc.text])[0]
            gaps = hide_gaps(seen.reading, tokens, decisions.keep, original)
            decisions = decide_on_original(seen.reading, tokens, decisions, original)
            # What the reading joins, a list may have apart.
            tokens, decisions = original, self._mask_listed(seen, original, decisions)
        if doc.unsure:
            unsure = tokens_touched(tokens, doc.unsure)
            reasons = np.where(unsure, Reason.HARD_TO_READ, decisions.reasons).astype(np.uint8)
            decisions = replace(decisions, keep=decisions.keep & ~unsure, reasons=reasons)
        return _Passed(tokens, decisions, gaps, seen.other_language)

    def _render(self, doc: Document, passed: _Passed) -> MaskedDocument:
        tokens, decisions = passed.tokens, passed.decisions
        rendering = render(tokens, decisions.keep, self._stages.marker_for(decisions), passed.gaps)
        return MaskedDocument(
            doc.id,
            rendering.text,
            rendering.masks,
            rendering.replaced,
            tokens,
            decisions,
            other_language=passed.other_language,
        )

    def _mask_listed(self, seen: _Seen, tokens: Tokens, decisions: Decisions) -> Decisions:
        if seen.known is not None:
            decisions = mask_more(decisions, seen.known.among(tokens), Reason.KNOWN_IDENTIFIER)
        return mask_phrases(tokens, self._stages.deny, Reason.DENY_LIST, decisions)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    doc: Document
    reading: Reading | None  # None = the text itself
    tokens: Tokens = field(repr=False)  # of the reading
    known: KnownIdentifiers | None
    other_language: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Passed:
    tokens: Tokens = field(repr=False)  # of the text itself
    decisions: Decisions
    gaps: Sequence[tuple[int, int]] | None  # to hide, None = the forbidden ones
    other_language: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    rows: Sequence[int]  # which documents of the batch
    tokens: Sequence[Tokens] = field(repr=False)  # of each document
    analyses: Sequence[RuleAnalysis] = field(repr=False)  # of each document
    scores: Callable[[], Sequence[Scores] | None] = field(repr=False)  # waits; None = no network


def choose_texts(docs: Sequence[Document], readings: Sequence[Reading | None]) -> list[str]:
    return [
        doc.text if reading is None else reading.text for doc, reading in zip(docs, readings, strict=True)
    ]


def split_by_length(tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Return rows of documents of similar length, about `PART_TOKENS` tokens at a time, longest first.

    Example:
        >>> list(split_by_length(tokenize_many(["a b", "a " * PART_TOKENS, "a b c"])))
        [[1], [2, 0]]
    """
    part: list[int] = []
    n_tokens = 0
    for row in sorted(range(len(tokens)), key=lambda row: -len(tokens[row])):
        part.append(row)
        n_tokens += len(tokens[row])
        if n_tokens >= PART_TOKENS:
            yield part
            part, n_tokens = [], 0
    if part:
        yield part


def join_verdicts(tokens: Sequence[Tokens], verdicts: Sequence[RuleVerdicts]) -> RuleVerdicts:
    """Join the verdicts of documents.

    Raises:
        StageError: A token of a document has no verdict, or a verdict has no token.
    """
    columns = [[getattr(one, name) for name in RuleVerdicts.__slots__] for one in verdicts]
    return RuleVerdicts(*_join_columns(tokens, columns))


def join_scores(
    tokens: Sequence[Tokens], scores: Sequence[Scores]
) -> tuple[FloatArray, npt.NDArray[np.uint8]]:
    """Join the `p_safe` and `categories` of documents.

    Raises:
        StageError: A token of a document has no score, or a score has no token.
    """
    p_safe, categories = _join_columns(tokens, [[one.p_safe, one.categories] for one in scores])
    return p_safe, categories


def _own_of_scores(scores: Scores, own: slice, *, with_classes: bool) -> Scores:
    classes = scores.p_classes[own].copy() if with_classes and scores.p_classes is not None else None
    return Scores(scores.p_safe[own].copy(), scores.categories[own].copy(), classes)


def _join_sections(scores: Sequence[Scores]) -> Scores:
    classes = [one.p_classes for one in scores if one.p_classes is not None]
    return Scores(
        np.concatenate([one.p_safe for one in scores]),
        np.concatenate([one.categories for one in scores]),
        np.concatenate(classes) if len(classes) == len(scores) else None,
    )


def join_kept(
    tokens: Sequence[Tokens], scores: Sequence[Scores], kept: frozenset[HyperClass]
) -> FloatArray | None:
    """Return the probability that each token is of a kept class: float32 (n_tokens,), None = none is kept.

    Raises:
        StageError: The probabilities of a document are of another number of tokens or classes.
    """
    if not kept:
        return None
    columns = [number for number, one in enumerate(HyperClass) if one in kept]
    found: list[FloatArray] = [np.zeros(0, np.float32)]
    for of, one in zip(tokens, scores, strict=True):
        p_classes = one.p_classes
        if p_classes is None:
            p_classes = np.zeros((len(of), len(HyperClass)), np.float32)
        if p_classes.shape != (len(of), len(HyperClass)):
            raise StageError(
                _(
                    "a stage gave probabilities of shape {shape} for {n_of} tokens",
                    shape=p_classes.shape,
                    n_of=len(of),
                )
            )
        found.append(p_classes[:, columns].sum(axis=1))
    return np.concatenate(found)


def _by_document(
    decide: Callable[[Tokens, Decisions], Decisions],
    tokens: Sequence[Tokens],
    slices: Iterable[slice],
    decisions: Decisions,
) -> Decisions:
    keep, reasons = decisions.keep.copy(), decisions.reasons.copy()
    for one, of in zip(tokens, slices, strict=True):
        decided = decide(one, decisions.of(of))
        keep[of], reasons[of] = decided.keep, decided.reasons
    return replace(decisions, keep=keep, reasons=reasons)


def _join_columns(
    tokens: Sequence[Tokens], columns: Sequence[Sequence[npt.NDArray[Any]]]
) -> Iterator[npt.NDArray[Any]]:
    # A column that is out of step would let words leave.
    if len(columns) != len(tokens):
        raise StageError(
            _(
                "a stage answered for {n_columns} documents of {n_tokens}",
                n_columns=len(columns),
                n_tokens=len(tokens),
            )
        )
    for one, found in zip(tokens, columns, strict=True):
        if any(len(column) != len(one) for column in found):
            raise StageError(
                _(
                    "a stage answered for {found} tokens of {n_one}",
                    found=[len(c) for c in found],
                    n_one=len(one),
                )
            )
    return (one[0] if len(one) == 1 else np.concatenate(one) for one in zip(*columns, strict=True))


def mask_everything(doc: Document, marker_for: MarkerFor) -> MaskedDocument:
    """Mask every token of a document that a stage failed on."""
    tokens = tokenize(doc.text)
    n_tokens = len(tokens)
    decisions = Decisions(
        keep=np.zeros(n_tokens, np.bool_),
        reasons=np.full(n_tokens, Reason.FAILED_CLOSED, np.uint8),
        p_safe=np.full(n_tokens, np.nan, np.float32),
        thresholds=np.full(n_tokens, np.inf, np.float32),
        categories=np.zeros(n_tokens, np.uint8),
    )
    try:
        rendering = render(tokens, decisions.keep, marker_for(decisions))
    except Exception:  # noqa: BLE001 - even the marker may be what failed
        rendering = render(tokens, decisions.keep, lambda first, last: "PHI")
    return MaskedDocument(
        doc.id, rendering.text, rendering.masks, rendering.replaced, tokens, decisions, failed=True
    )
