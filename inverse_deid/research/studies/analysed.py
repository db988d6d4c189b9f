"""Documents with their tokens, verdicts and gold, ready to be scored by many networks."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import OutputError, UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import BoolArray, Document, FloatArray, RuleAnalysis, RuleVerdicts, Tokens
from inverse_deid.evaluation.groups import TYPE_NUMBER
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.config import Targets, class_names, class_of
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.research.studies.tables import staging_path
from inverse_deid.rules.allowlist import Policy
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.alignment import span_of_token
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.calibration import ScoredCorpus, densities

NO_TYPE = -1


@dataclass(frozen=True, slots=True, eq=False)
class AnalysedCorpus:
    """Annotated documents after the rules; token arrays have all documents one after the other.

    Args:
        name: The corpus.
        docs: With their gold spans.
        tokens: Of each document.
        analyses: By the *case-aware* rules.
        types: int16 (n_tokens,), number of the PHI type that touches a token, `NO_TYPE` = safe.
        documents: int32 (n_tokens,), number of the document.
        interned: Numbers the words of the analyses.
    """

    name: str
    docs: tuple[Document, ...] = field(repr=False)
    tokens: list[Tokens] = field(repr=False)
    analyses: list[RuleAnalysis] = field(repr=False)
    types: npt.NDArray[np.int16] = field(repr=False)
    documents: npt.NDArray[np.int32] = field(repr=False)
    interned: InternedWords = field(repr=False)

    @property
    def is_phi(self) -> BoolArray:
        """Bool (n_tokens,)."""
        return np.asarray(self.types != NO_TYPE)

    @property
    def starts(self) -> list[int]:
        """Where each document's tokens start; one entry more than there are documents."""
        return [0, *np.cumsum([len(one) for one in self.tokens]).tolist()]


def analysed(name: str, docs: Sequence[Document]) -> AnalysedCorpus:
    """Run the packaged rules over annotated documents."""
    interned = InternedWords()
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = RuleAnalyser(load_lexicon(), interned).analyse_many(tokens)
    lengths = [len(one) for one in tokens]
    types = [np.zeros(0, np.int16)]
    for doc, one in zip(docs, tokens, strict=True):
        numbers = [TYPE_NUMBER[span.type] for span in doc.spans]
        types.append(np.array([*numbers, NO_TYPE], np.int16)[span_of_token(one, doc.spans)])
    documents = np.repeat(np.arange(len(docs), dtype=np.int32), lengths)
    return AnalysedCorpus(name, tuple(docs), tokens, analyses, np.concatenate(types), documents, interned)


def verdicts_of(corpus: AnalysedCorpus, policy: Policy) -> RuleVerdicts:
    """The verdicts of all tokens by another policy of the rules."""
    analyses = corpus.analyses
    if policy != "case-aware":
        analyses = RuleAnalyser(load_lexicon(), corpus.interned, policy).analyse_many(corpus.tokens)
    return _joined([analysis.verdicts for analysis in analyses])


def _joined(verdicts: Sequence[RuleVerdicts]) -> RuleVerdicts:
    empty = np.zeros(0, np.bool_)
    columns = [column.name for column in fields(RuleVerdicts)]
    return RuleVerdicts(
        *(np.concatenate([empty, *(getattr(one, name) for one in verdicts)]) for name in columns)
    )


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """What a network says of the tokens of a corpus, without any text.

    Args:
        p_safe: float32 (n_tokens,).
        best: uint8 (n_tokens,), number of the most probable class, 0 = safe.
        categories: uint8 (n_tokens,), most probable PHI hyper-class (index into `HyperClass`).
    """

    p_safe: FloatArray = field(repr=False)
    best: npt.NDArray[np.uint8] = field(repr=False)
    categories: npt.NDArray[np.uint8] = field(repr=False)


def score(parts: ModelParts, corpus: AnalysedCorpus) -> TokenScores:
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
    n_classes = len(scorer.class_names)
    found = np.concatenate([np.zeros((0, n_classes), np.float32), *scorer.score(inputs)])
    best_phi = found[:, 1:].argmax(axis=1) + 1
    hyper = _hyper_numbers(parts.network.targets)
    return TokenScores(found[:, 0].copy(), found.argmax(axis=1).astype(np.uint8), hyper[best_phi])


def _hyper_numbers(targets: Targets) -> npt.NDArray[np.uint8]:
    """uint8 (n_classes,): index into `HyperClass` of each class, 0 where it has none."""
    order = list(HyperClass)
    numbers = {class_of(fine, targets): order.index(hyper) for fine, hyper in HYPER_CLASS_OF.items()}
    if targets == "binary":
        numbers = {}
    return np.array([numbers.get(name, 0) for name in class_names(targets)], np.uint8)


def gold_classes(corpus: AnalysedCorpus, targets: Targets) -> npt.NDArray[np.int64]:
    """int64 (n_tokens,): the class of each token, 0 = safe."""
    names = class_names(targets)
    numbers = [names.index(class_of(fine, targets)) for fine in TYPE_NUMBER]
    return np.array([*numbers, 0], np.int64)[corpus.types]


def scored(corpus: AnalysedCorpus, scores: TokenScores, verdicts: RuleVerdicts | None = None) -> ScoredCorpus:
    """What calibration reads; without verdicts the network is alone."""
    return ScoredCorpus(
        name=corpus.name,
        is_phi=corpus.is_phi,
        p_safe=scores.p_safe,
        verdicts=RuleVerdicts.silent(len(corpus.types)) if verdicts is None else verdicts,
        densities=densities(np.split(scores.p_safe, corpus.starts[1:-1])),
    )


def write_scores(path: Path, scores: dict[str, TokenScores]) -> None:
    """Keep the scores of corpora in one npz file.

    Raises:
        OutputError: It cannot be written.
    """
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for name, one in scores.items():
        arrays |= {
            f"{name}:p_safe": one.p_safe,
            f"{name}:best": one.best,
            f"{name}:categories": one.categories,
        }
    write_arrays(path, arrays)


def write_arrays(path: Path, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
    """Replace an npz file at once or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    staging = staging_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with staging.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        staging.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        staging.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """Read an npz file.

    Raises:
        UnreadableInputError: It is missing or damaged.
    """
    problem = ""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return dict(arrays)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        problem = type(error).__name__
    raise UnreadableInputError(f"{path}: cannot be read ({problem}); start anew with --force")


def read_scores(path: Path) -> dict[str, TokenScores]:
    """Read what `write_scores` wrote.

    Raises:
        UnreadableInputError: It is missing or damaged.
    """
    arrays = read_arrays(path)
    names = dict.fromkeys(key.rpartition(":")[0] for key in arrays)
    try:
        return {
            name: TokenScores(
                arrays[f"{name}:p_safe"].astype(np.float32),
                arrays[f"{name}:best"].astype(np.uint8),
                arrays[f"{name}:categories"].astype(np.uint8),
            )
            for name in names
        }
    except KeyError as error:
        raise UnreadableInputError(f"{path}: holds no scores; start anew with --force") from error
