"""Encode annotated documents for training, with the opinion of teachers if there are any.

Source: Hinton, Vinyals and Dean 2015 (soft targets); the mean of several networks is better than
each, and one network can learn most of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.core.values import Document, FloatArray, RuleAnalysis, Tokens
from inverse_deid.core.wording import _
from inverse_deid.lexicon import Lexicon
from inverse_deid.masking.scorers import feature_columns, feature_names, find_doubtful
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names, class_of
from inverse_deid.network.encoding import WordVectors, gap_codes, word_numbers
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.network.second_reader import EncoderParts, SecondReader
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import span_of_token, tokenize

_DOUBTFUL_FEATURES = (
    "date-of-two-numbers",
    "month-slash-year",
    "bare-year",
    "short-year",
    "is-weekday",
    "after-salutation",
    "in-veto-pattern",
)
"""Features of tokens that may be an unmarked date or name in a weakly labelled document."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of tokens in the loss: of PHI (a safe token weighs 1), and of all tokens of the document.

    If the document is `weak`, it may contain unmarked PHI, and doubtful tokens have weight 0, unless teachers
    have an opinion on them. `factors` are further factors on PHI tokens, by hyper-class.
    """

    phi: float = 3.0
    document: float = 1.0
    weak: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)


Teacher = ModelParts | EncoderParts


def check_teachers(models: Sequence[Teacher], config: NetworkConfig) -> None:
    """Check that a network can learn from teachers.

    Raises:
        ConfigurationError: It is a CRF, a teacher tells other classes apart, or there are encoders alone.
    """
    if models and config.output == "crf":
        raise ConfigurationError(_("a CRF learns from labels alone. Leave out data.teachers, or use softmax"))
    if any(_classes(parts) != class_names(config.targets) for parts in models):
        raise ConfigurationError(_("teachers and network have different classes. Correct network.targets"))
    if models and all(isinstance(parts, EncoderParts) for parts in models):
        raise ConfigurationError(
            _("an encoder teaches what a network is unsure of. Add the folder of a network to data.teachers")
        )


def _classes(parts: Teacher) -> tuple[str, ...]:
    return parts.class_names if isinstance(parts, EncoderParts) else class_names(parts.network.targets)


class Teachers:
    """Asks several models, or none, and takes the mean; encoders read where the networks are unsure.

    Raises:
        ConfigurationError: The network cannot learn from them.
    """

    def __init__(self, models: Sequence[Teacher], config: NetworkConfig, interned: InternedWords) -> None:
        check_teachers(models, config)
        self._networks = [
            (Scorer(parts, interned, n_threads=1), feature_columns(parts.feature_names))
            for parts in models
            if isinstance(parts, ModelParts)
        ]
        self._encoders = [
            (SecondReader(parts, n_threads=1), parts.doubt_at(None), feature_columns(parts.feature_names))
            for parts in models
            if isinstance(parts, EncoderParts)
        ]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def opinions(self, docs: Sequence[tuple[Tokens, RuleAnalysis]]) -> list[FloatArray]:
        """Return mean class probabilities: float32 (n_tokens, n_classes) a document."""
        opinions = _mean([scorer.score(_inputs(docs, columns)) for scorer, columns in self._networks])
        if not self._encoders:
            return opinions
        analyses = [analysis for _, analysis in docs]
        readings = [
            reader.begin(_inputs(docs, columns), opinions, find_doubtful(doubt, opinions, analyses))()
            for reader, doubt, columns in self._encoders
        ]
        return _mean(readings)


def _inputs(docs: Sequence[tuple[Tokens, RuleAnalysis]], columns: Sequence[int]) -> list[ScorerInput]:
    return [ScorerInput(t, analysis.ids, analysis.features[:, columns]) for t, analysis in docs]


def _mean(opinions: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    return [np.mean(of_doc, axis=0, dtype=np.float32) for of_doc in zip(*opinions, strict=True)]


class ExampleMaker:
    """Encodes annotated documents for training a network, with the rule features and the vocabulary.

    Teachers are asked about every document. `teacher_weight` is the share of their opinion in the target of
    a labelled token. With `labels_first`, that of an identifier is less the safer they call it.
    """

    def __init__(
        self,
        config: NetworkConfig,
        lexicon: Lexicon,
        vectors: WordVectors,
        *,
        teachers: Sequence[Teacher] = (),
        teacher_weight: float = 0.0,
        labels_first: bool = False,
    ) -> None:
        self._config = config
        self._numbers = vectors.numbers()
        self._interned = InternedWords()
        self._analyser = RuleAnalyser(lexicon, self._interned, repairs=False)
        self._columns = feature_columns(feature_names(config.feature_set))
        self._doubtful = feature_columns(_DOUBTFUL_FEATURES)
        self._teachers = Teachers(teachers, config, self._interned)
        self._teacher_weight = teacher_weight
        self._labels_first = labels_first
        self._class_number = {name: i for i, name in enumerate(class_names(config.targets))}

    def make(self, doc: Document, weights: Weights) -> Example:
        """Encode one document; a token touched by PHI is PHI."""
        return self.make_many([(doc, weights)])[0]

    def make_many(self, docs: Sequence[tuple[Document, Weights]]) -> list[Example]:
        """Encode documents; the teachers read all of them at once."""
        tokens = [tokenize(doc.text) for doc, _ in docs]
        read = list(zip(tokens, self._analyser.analyse_many(tokens), strict=True))
        opinions = self._teachers.opinions(read) if self._teachers else [None] * len(docs)
        made = [
            self._example(doc, weights, seen, opinion)
            for (doc, weights), seen, opinion in zip(docs, read, opinions, strict=True)
        ]
        self._interned.trim()
        return made

    def _example(
        self,
        doc: Document,
        weights: Weights,
        read: tuple[Tokens, RuleAnalysis],
        opinion: FloatArray | None,
    ) -> Example:
        tokens, analysis = read
        owners = span_of_token(tokens, doc.spans)
        classes = [self._class_number[class_of(span.type, self._config.targets)] for span in doc.spans]
        labels = np.array([*classes, 0], np.int32)[owners]
        factors = [weights.phi * weights.factors.get(HYPER_CLASS_OF[span.type], 1.0) for span in doc.spans]
        weight = np.array([*factors, 1.0])[owners] * weights.document
        share = np.full(len(tokens), self._teacher_weight)
        if self._labels_first and opinion is not None:
            share *= np.where(labels > 0, 1 - opinion[:, 0], 1)
        if weights.weak:
            doubtful = (analysis.features[:, self._doubtful] > 0).any(axis=1) & (labels == 0)
            share[doubtful] = 1.0
            weight[doubtful & (opinion is None)] = 0
        return Example(
            words=tokens.words,
            word_rows=word_numbers(tokens.words, self._numbers),
            gaps=gap_codes(tokens),
            features=analysis.features[:, self._columns],
            labels=labels,
            weights=weight.astype(np.float32),
            opinion=None if opinion is None else (opinion * share[:, None]).astype(np.float16),
        )
