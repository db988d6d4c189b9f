"""Annotated corpora, what a network says of their tokens, and how well a choice of tokens finds PHI.

Protected health information (PHI) is counted by tokens: one token is one decision.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inverse_deid.choices.table import Policy
from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import (
    BoolArray,
    Decisions,
    Document,
    FloatArray,
    RuleAnalysis,
    RuleVerdicts,
    Tokens,
)
from inverse_deid.evaluation.evaluation import Evaluation, evaluate_masks
from inverse_deid.evaluation.measures.counts import TYPE_NUMBER
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.combine import combine
from inverse_deid.masking.document_passes import mask_joined_parts, mask_names_everywhere
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.config import Targets, class_names, class_of
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join, span_of_token, tokenize
from inverse_deid.training.calibration import ScoredCorpus, densities
from inverse_deid_research.studies.records import START_OVER, read_arrays, write_arrays

NO_TYPE = -1

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class AnalysedCorpus:
    """Annotated documents after the *case-aware* rules; token arrays contain all documents in order."""

    name: str
    docs: tuple[Document, ...] = field(repr=False)
    tokens: list[Tokens] = field(repr=False)
    analyses: list[RuleAnalysis] = field(repr=False)
    # (n_tokens,), the number of the PHI type that touches a token, `NO_TYPE` = safe.
    types: npt.NDArray[np.int16] = field(repr=False)
    documents: npt.NDArray[np.int32] = field(repr=False)  # (n_tokens,), the number of the document
    interned: InternedWords = field(repr=False)  # numbers the words

    @property
    def is_phi(self) -> BoolArray:
        """Bool (n_tokens,)."""
        return np.asarray(self.types != NO_TYPE)

    @property
    def starts(self) -> list[int]:
        """Where the tokens of each document start; one entry more than there are documents."""
        return [0, *np.cumsum([len(one) for one in self.tokens]).tolist()]

    def verdicts(self, policy: Policy) -> RuleVerdicts:
        analyses = self.analyses
        if policy != "case-aware":
            analyses = RuleAnalyser(load_lexicon(), self.interned, policy).analyse_many(self.tokens)
        empty = np.zeros(0, np.bool_)
        return RuleVerdicts(
            *(
                np.concatenate([empty, *(getattr(one.verdicts, column.name) for one in analyses)])
                for column in fields(RuleVerdicts)
            )
        )

    def gold_classes(self, targets: Targets) -> npt.NDArray[np.int64]:
        """Return the class of each token, 0 = safe: int64 (n_tokens,)."""
        names = class_names(targets)
        numbers = [names.index(class_of(fine, targets)) for fine in TYPE_NUMBER]
        return np.array([*numbers, 0], np.int64)[self.types]

    def evaluate(self, keep: BoolArray) -> Evaluation:
        """Evaluate masks: bool (n_tokens,), False = masked.

        Raises:
            AnnotationError: Two documents have one id.
        """
        masks = {}
        for doc, one, (start, end) in zip(
            self.docs, self.tokens, itertools.pairwise(self.starts), strict=True
        ):
            masked = ~keep[start:end]
            masks[doc.id] = list(zip(one.starts[masked].tolist(), one.ends[masked].tolist(), strict=True))
        return evaluate_masks(self.docs, masks)

    def run_document_passes(self, verdicts: RuleVerdicts, decisions: Decisions) -> BoolArray:
        """Return what the passes over whole documents keep: bool (n_tokens,)."""
        tokens = join(self.tokens)
        return mask_joined_parts(tokens, mask_names_everywhere(tokens, verdicts, decisions)).keep


def analyse_corpus(name: str, docs: Sequence[Document]) -> AnalysedCorpus:
    """Run the packaged rules over annotated documents."""
    interned = InternedWords()
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = RuleAnalyser(load_lexicon(), interned).analyse_many(tokens)
    types = [np.zeros(0, np.int16)]
    for doc, one in zip(docs, tokens, strict=True):
        numbers = [TYPE_NUMBER[span.type] for span in doc.spans]
        types.append(np.array([*numbers, NO_TYPE], np.int16)[span_of_token(one, doc.spans)])
    documents = np.repeat(np.arange(len(docs), dtype=np.int32), [len(one) for one in tokens])
    return AnalysedCorpus(name, tuple(docs), tokens, analyses, np.concatenate(types), documents, interned)


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """The opinion of a network on the tokens of a corpus, without any text."""

    p_safe: FloatArray = field(repr=False)  # float32 (n_tokens,)
    # (n_tokens,), the number of the most probable class, 0 = safe.
    best: npt.NDArray[np.uint8] = field(repr=False)
    # (n_tokens,), the most probable PHI hyper-class (index into `HyperClass`).
    categories: npt.NDArray[np.uint8] = field(repr=False)

    @property
    def is_probably_safe(self) -> BoolArray:
        """Whether *safe* is the most probable class; False where the score is not a number."""
        return np.asarray((self.best == 0) & ~np.isnan(self.p_safe))

    def decide(
        self,
        thresholds: Thresholds,
        verdicts: RuleVerdicts | None = None,
        densities: Float64Array | None = None,
    ) -> Decisions:
        """Decide on the tokens by the adaptive threshold.

        Without verdicts `high` alone decides. A slope of density needs densities: float64 (n_tokens,), as in
        `ScoredCorpus`.
        """
        if verdicts is None:
            verdicts = RuleVerdicts.silent(len(self.p_safe))
        return combine(verdicts, self.p_safe, self.categories, thresholds, densities)

    def for_calibration(self, corpus: AnalysedCorpus, verdicts: RuleVerdicts | None = None) -> ScoredCorpus:
        """Return what calibration reads; without verdicts the network is alone."""
        return ScoredCorpus(
            name=corpus.name,
            is_phi=corpus.is_phi,
            p_safe=self.p_safe,
            verdicts=RuleVerdicts.silent(len(corpus.types)) if verdicts is None else verdicts,
            densities=densities(np.split(self.p_safe, corpus.starts[1:-1])),
        )


def score_corpus(parts: ModelParts, corpus: AnalysedCorpus) -> TokenScores:
    """Score a corpus with an exported model, as masking would.

    Raises:
        ModelError: The model does not fit this version.
        StageError: The network returned another shape than was asked for.
    """
    scorer = Scorer(parts, corpus.interned, n_threads=1)
    columns = feature_columns(parts.feature_names)
    inputs = [
        ScorerInput(tokens, analysis.ids, analysis.features[:, columns])
        for tokens, analysis in zip(corpus.tokens, corpus.analyses, strict=True)
    ]
    found = np.concatenate([np.zeros((0, len(scorer.class_names)), np.float32), *scorer.score(inputs)])
    return read_opinion(found, parts.network.targets)


def read_opinion(probabilities: FloatArray, targets: Targets) -> TokenScores:
    """Return what class probabilities, float32 (n_tokens, n_classes), say of each token."""
    best_phi = probabilities[:, 1:].argmax(axis=1) + 1
    order = list(HyperClass)
    numbers = {class_of(fine, targets): order.index(hyper) for fine, hyper in HYPER_CLASS_OF.items()}
    if targets == "binary":
        numbers = {}
    hyper = np.array([numbers.get(name, 0) for name in class_names(targets)], np.uint8)
    best = probabilities.argmax(axis=1).astype(np.uint8)
    return TokenScores(probabilities[:, 0].copy(), best, hyper[best_phi])


_ARRAYS = {"p_safe": np.float32, "best": np.uint8, "categories": np.uint8}


def write_scores(path: Path, scores: dict[str, TokenScores]) -> None:
    """Keep the scores of corpora in one npz file, as `write_arrays` does."""
    names = ((corpus, array) for corpus in scores for array in _ARRAYS)
    write_arrays(path, {f"{corpus}:{array}": getattr(scores[corpus], array) for corpus, array in names})


def read_scores(path: Path) -> dict[str, TokenScores]:
    """Read what `write_scores` wrote.

    Raises:
        UnreadableInputError: It is missing or damaged.
    """
    arrays = read_arrays(path)
    names = dict.fromkeys(key.rpartition(":")[0] for key in arrays)
    try:
        return {
            name: TokenScores(*(arrays[f"{name}:{array}"].astype(kind) for array, kind in _ARRAYS.items()))
            for name in names
        }
    except KeyError as error:
        raise UnreadableInputError(f"{path}: does not contain scores", remedies=[START_OVER]) from error


def find_curve(is_phi: BoolArray, needed: Float64Array) -> tuple[Float64Array, Float64Array] | None:
    """Return recall and precision of masking at every threshold that matters, recall rising.

    Tokens of one value are masked together, so figures are taken where the value changes. `needed` is
    float64 (n_tokens,), the threshold above which a token is masked; the lower, the earlier.

    Returns:
        Two float64 (n_points,), or None without PHI.
    """
    n_phi = int(is_phi.sum())
    if not n_phi:
        return None
    order = np.argsort(needed, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(needed[order]) > 0, True))
    hits = np.cumsum(is_phi[order])[ends]
    return hits / n_phi, hits / (ends + 1)


def average_precision(is_phi: BoolArray, needed: Float64Array) -> float | None:
    """Return the mean precision over the steps of recall (see `find_curve`), or None without PHI.

    Example:
        >>> average_precision(np.array([True, False, True]), np.array([0.1, 0.2, 0.3]))
        0.8333333333333333
    """
    points = find_curve(is_phi, needed)
    return None if points is None else float((np.diff(points[0], prepend=0.0) * points[1]).sum())


def precision_at_recall(is_phi: BoolArray, needed: Float64Array, recall: float) -> float | None:
    """Return the precision at the lowest threshold that reaches a recall in (0, 1], or None without PHI.

    Example:
        >>> precision_at_recall(np.array([True, False, True]), np.array([0.1, 0.2, 0.3]), 0.5)
        1.0
    """
    points = find_curve(is_phi, needed)
    return None if points is None else float(points[1][np.searchsorted(points[0], recall - 1e-12)])


def measure_masks(
    is_phi: BoolArray, is_masked: BoolArray, documents: npt.NDArray[np.int32]
) -> dict[str, float | None]:
    """Return recall, precision, and the share of documents with PHI that leak none; None = undefined.

    Example:
        >>> flags = np.array([True, True, False])
        >>> measure_masks(flags, np.array([True, False, True]), np.array([0, 1, 1], np.int32))
        {'recall': 0.5, 'precision': 0.5, 'without a leak': 0.5}
    """
    hits, n_phi, n_masked = int((is_phi & is_masked).sum()), int(is_phi.sum()), int(is_masked.sum())
    with_phi = len(np.unique(documents[is_phi]))
    leaking = len(np.unique(documents[is_phi & ~is_masked]))
    return {
        "recall": hits / n_phi if n_phi else None,
        "precision": hits / n_masked if n_masked else None,
        "without a leak": 1 - leaking / with_phi if with_phi else None,
    }
