"""How much PHI (protected health information) of a calibration set masking keeps, at fixed thresholds.

The whole pipeline runs at the thresholds, including the passes over the document. Rules and
network do not depend on thresholds and run once. A lower threshold masks nothing that a
higher one keeps. If two thresholds keep the same PHI of a document, all thresholds between
them do, so few have to be tried. Every run checks that the tried ones are nested.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inverse_deid.core.batches import BATCH_CHARS, cut_batches
from inverse_deid.core.errors import AnnotationError, ModelError, Remedy, StageError, name_documents
from inverse_deid.core.thresholds import EVERYTHING_MASKED, Thresholds
from inverse_deid.core.values import BoolArray, Document, RuleAnalysis, Tokens
from inverse_deid.core.wording import N_, _
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages, choose_texts
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.calibration import thresholds_at
from inverse_deid.training.documents import corpus_sha256

HIGHEST_LOGIT, LOWEST_LOGIT, N_STEPS = 14.0, -6.0, 200
"""`high` from 0.999999 to 0.0025; above, single precision tells few probabilities apart."""


Int64Array = npt.NDArray[np.int64]
Keeps = Mapping[int, BoolArray]
"""For documents by their place in a batch: bool (n_tokens,), which tokens are kept."""


def threshold_sequence(like: Thresholds = EVERYTHING_MASKED) -> tuple[Thresholds, ...]:
    """Return the thresholds that calibration tries, the safest first, in steps of a tenth of a logit.

    They never depend on data: a sequence chosen by the scores of the PHI would void the
    guarantee. A step changes the odds by a tenth, so finer steps would not matter. `like` gives the slope.
    """
    logits = np.linspace(HIGHEST_LOGIT, LOWEST_LOGIT, N_STEPS + 1)
    return tuple(thresholds_at(float(high), like) for high in 1 / (1 + np.exp(-logits)))


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationSet:
    """The documents with PHI tokens, in the order of the gold.

    `owners`, int64 (n_docs,), from 0 on, is the number of each document's patient, or its own.
    """

    docs: tuple[Document, ...] = field(repr=False)
    owners: Int64Array = field(repr=False)

    @property
    def n_counted(self) -> int:
        """Documents or, if they were given, patients."""
        return int(self.owners.max(initial=-1)) + 1


def calibration_set(gold: Sequence[Document], patients: Sequence[str] | None = None) -> CalibrationSet:
    """Return the documents with PHI; those of one patient count once. None = each is of another patient.

    Raises:
        AnnotationError: Two documents have the same id, or two documents that count apart
            have the same text.
    """
    if twice := _with_company([doc.id for doc in gold], [doc.id for doc in gold]):
        raise AnnotationError(
            _(
                "duplicate ids in the gold: {documents}. Give every document its own id",
                documents=name_documents(twice),
            )
        )
    owners = [doc.id for doc in gold] if patients is None else patients
    pairs = list(zip(gold, owners, strict=True))
    counted = [(doc, name) for doc, name in pairs if _is_phi(doc, tokenize(doc.text)).any()]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for _, name in counted))}
    first = {(doc.text, name): doc for doc, name in counted}.values()
    if copies := _with_company([doc.text for doc in first], [doc.id for doc in first]):
        raise AnnotationError(
            _("the same text is in {documents}", documents=name_documents(copies)),
            remedies=[
                Remedy(step=N_("leave the copy out")),
                Remedy("patients", step=N_("state with {} that they belong to one patient")),
            ],
        )
    owned = np.array([numbers[name] for _, name in counted], np.int64)
    return CalibrationSet(tuple(doc for doc, _ in counted), owned)


def _with_company(keys: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return the ids of entries whose key occurs more than once, in order."""
    members: dict[str, list[str]] = defaultdict(list)
    for key, doc_id in zip(keys, ids, strict=True):
        members[key].append(doc_id)
    return [doc_id for found in members.values() if len(found) > 1 for doc_id in dict.fromkeys(found)]


def refuse_training_documents(gold: Path, provenance: Mapping[str, object]) -> None:
    """Refuse a calibration file or folder that the model was trained on, as far as its manifest tells.

    The provenance of a model has the SHA-256 of whole corpora, not of documents.

    Raises:
        ModelError: It was; parts of it in another file are the user's to rule out.
    """
    hashes = provenance.get("data_sha256")
    known = {sha: name for name, sha in hashes.items()} if isinstance(hashes, dict) else {}
    name = known.get(corpus_sha256(gold))
    if name is not None:
        raise ModelError(
            _(
                "{gold}: the model was trained on it (as {name}), so it would prove nothing. Calibrate "
                "on documents that were used neither for training nor to choose settings",
                gold=gold,
                name=name,
            )
        )


def _is_phi(doc: Document, tokens: Tokens) -> BoolArray:
    """Return which tokens a gold span touches: bool (n_tokens,)."""
    return np.asarray(span_of_token(tokens, doc.spans) >= 0)


@dataclass(frozen=True, slots=True, eq=False)
class KeptPhi:
    """How much PHI is kept, one row a document or patient with PHI, the safest threshold first.

    Of `n_phi` tokens, int64 (n_counted,), `n_kept`, int64 (n_counted, n_thresholds), are kept.

    Raises:
        StageError: A lower threshold keeps less.
    """

    n_phi: Int64Array
    n_kept: Int64Array

    def __post_init__(self) -> None:
        if (np.diff(self.n_kept, axis=1) < 0).any():
            raise StageError(_("a lower threshold masks more than a higher one. Report this"))

    def leaking(self) -> npt.NDArray[np.float64]:
        """Return 1 where any PHI token is kept: float64 (n_counted, n_thresholds)."""
        return (self.n_kept > 0).astype(np.float64)

    def share_kept(self) -> npt.NDArray[np.float64]:
        """Return the share of its PHI tokens that is kept: float64 (n_counted, n_thresholds), in [0, 1]."""
        return np.asarray(self.n_kept / self.n_phi[:, None], np.float64)


def count_kept_phi(
    calibration: CalibrationSet,
    stages: Stages,
    sequence: Sequence[Thresholds],
    on_batch: Callable[[int], object] = lambda n_documents: None,
) -> KeptPhi:
    """Run the pipeline over a calibration set at thresholds, the safest first, not at those of `stages`.

    `on_batch` receives the number of documents done since the last call.

    Raises:
        StageError: A document could not be analysed, or thresholds are not nested.
    """
    n_phi = np.zeros(calibration.n_counted, np.int64)
    n_kept = np.zeros((calibration.n_counted, len(sequence)), np.int64)
    n_done = 0
    for docs in cut_batches(calibration.docs, lambda doc: len(doc.text), most=BATCH_CHARS):
        owners = calibration.owners[n_done : n_done + len(docs)]
        batch = _AnalysedBatch(docs, stages)
        np.add.at(n_phi, owners, [phi.sum() for phi in batch.phi])
        np.add.at(n_kept, owners, _count_kept_in_batch(batch, sequence))
        stages.between_batches()
        n_done += len(docs)
        on_batch(len(docs))
    return KeptPhi(n_phi, n_kept)


class _AnalysedBatch:
    """Documents with the results of rules and network, which no threshold changes."""

    def __init__(self, docs: Sequence[Document], stages: Stages) -> None:
        readings = stages.read_all([doc.text for doc in docs])
        tokens = [tokenize(text) for text in choose_texts(docs, readings)]
        analyses = stages.analyser.analyse_many(tokens)
        scores = stages.scorer.score(tokens, analyses) if stages.scorer else None
        recorded = _Recorded(tokens, analyses, scores)
        self._docs = docs
        self._stages = dataclasses.replace(
            stages,
            analyser=recorded,
            scorer=recorded if scores else None,
            between_batches=lambda: None,
            read=dict(zip([doc.text for doc in docs], readings, strict=True)).get,
        )
        self.phi = [_is_phi(doc, tokenize(doc.text)) for doc in docs]

    def keeps(self, thresholds: Thresholds, rows: Sequence[int]) -> Keeps:
        """Mask some of the documents with these thresholds and return the kept tokens."""
        deidentifier = Deidentifier(dataclasses.replace(self._stages, thresholds=thresholds))
        masked = deidentifier.mask_many([self._docs[row] for row in rows])
        if failed := [doc.id for doc in masked if doc.failed]:
            raise StageError(
                _(
                    "could not analyse {documents}. Leave it out and report it",
                    documents=name_documents(failed),
                )
            )
        return {row: doc.decisions.keep for row, doc in zip(rows, masked, strict=True)}

    def n_kept(self, row: int, keeps: Keeps) -> int:
        """Return how many PHI tokens of a document are kept."""
        return int((keeps[row] & self.phi[row]).sum())


class _Recorded:
    """Replays the results of rules and network for a text (an `Analyser` and a `TokenScorer`)."""

    def __init__(
        self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis], scores: Sequence[Scores] | None
    ) -> None:
        texts = [t.text for t in tokens]
        self._analyses = dict(zip(texts, analyses, strict=True))
        self._scores = dict(zip(texts, scores, strict=True)) if scores else {}

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        return [self._analyses[t.text] for t in tokens]

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:  # noqa: ARG002, RUF100
        return [self._scores[t.text] for t in tokens]


def _count_kept_in_batch(batch: _AnalysedBatch, sequence: Sequence[Thresholds]) -> Int64Array:
    """Return kept PHI tokens: int64 (n_docs, n_thresholds)."""
    rows = list(range(len(batch.phi)))
    n_kept = np.zeros((len(rows), len(sequence)), np.int64)

    def try_step(step: int, some: Sequence[int]) -> Keeps:
        keeps = batch.keeps(sequence[step], some)
        for row in some:
            n_kept[row, step] = batch.n_kept(row, keeps)
        return keeps

    def search(first: int, last: int, at_first: Keeps, at_last: Keeps) -> None:
        if any((at_first[row] & ~keep).any() for row, keep in at_last.items()):
            raise StageError(_("a lower threshold masks what a higher one keeps. Report this"))
        differing = [row for row in at_last if n_kept[row, first] != n_kept[row, last]]
        if last - first < 2 or not differing:
            return
        middle = (first + last) // 2
        at_middle = try_step(middle, differing)
        search(first, middle, at_first, at_middle)
        search(middle, last, at_middle, {row: at_last[row] for row in differing})

    last = len(sequence) - 1
    search(0, last, try_step(0, rows), try_step(last, rows))
    return np.maximum.accumulate(n_kept, axis=1)
