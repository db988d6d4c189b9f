"""The systems that learn: a conditional random field, a support vector machine, and BiLSTMs.

Source of the features of the linear models: those that the CRF of the 2014 i2b2 task's best systems
share (Liu et al. 2015; Yang and Garibaldi 2015; as a list in Trienes et al. 2020), as far as they need no
tagger. The characters between tokens replace the punctuation tokens of these systems.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, PhiSpan, Tokens
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.evaluation.measures.uncertainty import Float64Array
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon
from inverse_deid.network.config import NetworkConfig, Output, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe
from inverse_deid_research.comparison.ready_systems import Network
from inverse_deid_research.comparison.systems import Sweep, not_fitted, ranges_of, sweep_tokens
from inverse_deid_research.studies.training import new_network

WINDOW = 2
"""How many neighbours on either side are read."""

_MAX_AFFIX = 4
_MAX_SHAPE = 12
_GAP_CHARS = 3
_CACHED_WORDS = 100_000
_SHOWN_FLAGS = tuple(flag for flag in WordFlag if flag < WordFlag.PHRASE_START)
_RUNS = re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """Return a word with its letters as `X` and `x`, its digits as `d`.

    Example:
        >>> shape("McKay"), shape("40mg")
        ('XxXxx', 'ddxx')
    """
    return "".join("d" if c.isdigit() else "X" if c.isupper() else "x" for c in word)


class TokenFeatures:
    """Describes the tokens of a document by strings such as `0:lower=rash`.

    A lexicon adds what the dictionaries know of a word and of its neighbours.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> first, second = TokenFeatures(None).of(tokenize("Mr. Li"))
        >>> [feature for feature in second if feature.startswith(("0:word", "-1", "gap"))]
        ['0:word=Li', '-1:lower=mr', '-1:shape=Xx', 'gap-before=. ', 'gap-after=']
    """

    def __init__(self, lexicon: Lexicon | None) -> None:
        self._lexicon = lexicon
        self._described = functools.lru_cache(_CACHED_WORDS)(self._describe)

    def of(self, tokens: Tokens) -> list[list[str]]:
        words = [self._described(word) for word in tokens.words]
        edges = zip([0, *tokens.ends.tolist()], [*tokens.starts.tolist(), len(tokens.text)], strict=True)
        gaps = [tokens.text[end:start] for end, start in edges]
        found = []
        for i in range(len(words)):
            features = [*words[i][0]]
            for offset in _OFFSETS:
                neighbour = i + offset
                features += words[neighbour][offset] if 0 <= neighbour < len(words) else (f"{offset}:none",)
            features += (f"gap-before={gaps[i][-_GAP_CHARS:]}", f"gap-after={gaps[i + 1][:_GAP_CHARS]}")
            found.append(features)
        return found

    def _describe(self, word: str) -> dict[int, tuple[str, ...]]:
        # 0 = about itself.
        lower, full = word.lower(), shape(word)
        short = _RUNS.sub(r"\1", full)
        brief = (f"lower={lower}", f"shape={short}", *self._flags(word))
        own = [f"word={word}", *brief, f"full-shape={full[:_MAX_SHAPE]}", f"length={min(len(word), 10)}"]
        for n in range(1, min(_MAX_AFFIX, len(word)) + 1):
            own += (f"begins={lower[:n]}", f"ends={lower[-n:]}")
        return {
            offset: tuple(f"{offset}:{feature}" for feature in (brief if offset else own))
            for offset in (0, *_OFFSETS)
        }

    def _flags(self, word: str) -> tuple[str, ...]:
        if self._lexicon is None:
            return ()
        flags = self._lexicon.flags(word)
        return tuple(f"list={flag.name}" for flag in _SHOWN_FLAGS if flag & flags) or ("list=none",)


_OFFSETS = tuple(offset for offset in range(-WINDOW, WINDOW + 1) if offset)


def hyper_labels(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    """Return the hyper-class of each token, `SAFE` outside of all spans.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> hyper_labels(tokenize("Mr Li-Wu left"), [PhiSpan(3, 8, PhiType.PATIENT)])
        ['SAFE', 'NAME', 'NAME', 'SAFE']
    """
    names = [*(HYPER_CLASS_OF[span.type].value for span in spans), HyperClass.SAFE.value]
    return [names[owner] for owner in span_of_token(tokens, spans).tolist()]


OUTSIDE = "O"
"""The label of a safe token in `bio_labels`."""


def bio_labels(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    """Return the label of each token: `B-` begins a span of a hyper-class, `I-` continues it.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> bio_labels(tokenize("Mr Li-Wu left"), [PhiSpan(3, 8, PhiType.PATIENT)])
        ['O', 'B-NAME', 'I-NAME', 'O']
    """
    names = [*(HYPER_CLASS_OF[span.type].value for span in spans), OUTSIDE]
    owners = [-1, *span_of_token(tokens, spans).tolist()]
    return [
        OUTSIDE if owner < 0 else f"{'I' if owner == before else 'B'}-{names[owner]}"
        for before, owner in pairwise(owners)
    ]


class ConditionalRandomField:
    """Labels every token with BIO over hyper-classes and masks what is not outside.

    Trained by L-BFGS, which draws nothing at random. A document is one sequence. The model knows
    what the packaged dictionaries know of each word.

    Raises:
        ConfigurationError: python-crfsuite is not installed.

    Source:
        Lafferty et al. 2001. The two penalties of 0.1 and the 100 iterations are those of the
        CRF of Trienes et al. 2020, "Comparing rule-based, feature-based and deep neural methods
        for de-identification of Dutch medical records"; nothing was tuned here.
    """

    name = "crf"
    title = "Conditional random field"
    source = "Lafferty et al. 2001; python-crfsuite, features as in the 2014 i2b2 task, c1 = c2 = 0.1"

    def __init__(self) -> None:
        import pycrfsuite

        self._suite = pycrfsuite
        self._features = TokenFeatures(load_lexicon())
        self._model = b""
        self._tagger: Any = None

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn; the seed has no effect."""
        trainer = self._suite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(
            {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}
        )
        for doc in docs:
            tokens = tokenize(doc.text)
            if len(tokens):
                trainer.append(self._features.of(tokens), bio_labels(tokens, doc.spans))
        # The model names words of the training documents and stays in memory, where the tagger reads it.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.crfsuite"
            trainer.train(str(path))
            self._model = path.read_bytes()
        tagger = self._suite.Tagger()
        tagger.open_inmemory(self._model)
        self._tagger = tagger

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token whose label in the most probable sequence is not outside."""
        if self._tagger is None:
            raise not_fitted(self.name)
        tokens = [tokenize(doc.text) for doc in docs]
        labels = [self._tagger.tag(self._features.of(one)) if len(one) else [] for one in tokens]
        return [
            ranges_of(one, np.array([label != OUTSIDE for label in found], np.bool_))
            for one, found in zip(tokens, labels, strict=True)
        ]

    def p_safe(self, docs: Sequence[Document]) -> list[Float64Array]:
        """Return the marginal probability that a token is outside: float64 (n_tokens,) per document."""
        if self._tagger is None:
            raise not_fitted(self.name)
        found = []
        for tokens in (tokenize(doc.text) for doc in docs):
            if len(tokens):
                self._tagger.set(self._features.of(tokens))
            marginals = [self._tagger.marginal(OUTSIDE, position) for position in range(len(tokens))]
            found.append(np.array(marginals, np.float64))
        return found

    def sweep(self, docs: Sequence[Document]) -> Sweep:
        """Return the masks at every marginal probability of a token to be outside."""
        return sweep_tokens([tokenize(doc.text) for doc in docs], self.p_safe(docs))


class SupportVectorMachine:
    """Gives every token a hyper-class by itself, from a window of features, and masks what is not safe.

    One machine per class against all others, each class weighted by the inverse of its
    frequency, so that it leans to masking. Features are hashed to 2**20 columns; optimisation
    stops at LIBLINEAR's default tolerance for the dual problem.

    Raises:
        ConfigurationError: scikit-learn is not installed.

    Source:
        Fan et al. 2008, "LIBLINEAR"; nothing was tuned here.
    """

    name = "svm"
    title = "Linear support vector machine"
    source = "LIBLINEAR (Fan et al. 2008) by scikit-learn, features of the crf, weighted classes, C = 0.1"

    def __init__(self) -> None:
        from sklearn.feature_extraction import FeatureHasher
        from sklearn.svm import LinearSVC

        self._hasher, self._svc = FeatureHasher(2**20, input_type="string"), LinearSVC
        self._features = TokenFeatures(load_lexicon())
        self._model: Any = None

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn; the seed orders the tokens in optimisation."""
        tokens = [tokenize(doc.text) for doc in docs]
        labels = [
            label for one, doc in zip(tokens, docs, strict=True) for label in hyper_labels(one, doc.spans)
        ]
        rows = (features for one in tokens for features in self._features.of(one))
        model = self._svc(C=0.1, class_weight="balanced", dual=True, tol=0.1, random_state=seed)
        self._model = model.fit(self._hasher.transform(rows), labels)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token that is not safe."""
        return self.sweep(docs).masks_at(np.nextafter(0, 1))  # a tie is masked

    def sweep(self, docs: Sequence[Document]) -> Sweep:
        """Return the masks at every distance of *safe* from the best other class."""
        if self._model is None:
            raise not_fitted(self.name)
        tokens = [tokenize(doc.text) for doc in docs]
        # All at once: each prediction costs a copy of the weights.
        rows = [features for one in tokens for features in self._features.of(one)]
        margins: Float64Array = np.zeros(0)
        if rows:
            found = self._model.decision_function(self._hasher.transform(rows))
            found = np.stack([-found, found], axis=1) if found.ndim == 1 else found
            is_safe = self._model.classes_ == HyperClass.SAFE.value
            margins = found[:, is_safe][:, 0] - found[:, ~is_safe].max(axis=1)
        ends = np.cumsum([len(one) for one in tokens], dtype=np.int64)
        return sweep_tokens(tokens, np.split(margins, ends)[: len(tokens)])


NETWORK = NetworkConfig(
    post_space=False,
    feature_set="none",
    targets="fine",
    word_dim=100,
    char_dim=25,
    char_units=25,
    token_units=100,
    token_layers=1,
    dropout=0.5,
)
"""The sizes of the paper."""

TRAINING = TrainingConfig(
    epochs=10,
    batch_tokens=512,
    learning_rate=1e-3,
    warm_up=0.0,
    final_rate=1.0,
    phi_weight=1.0,
    word_dropout=0.0,
    dictionary_dropout=0.0,
    synthetic=0,
    weak=0,
    surrogates="none",
)
"""Every token weighs the same, nothing is invented or replaced."""

_NAMES: dict[Output, tuple[str, str]] = {
    "softmax": ("bilstm", "BiLSTM"),
    "crf": ("bilstm-crf", "BiLSTM and CRF"),
}


class BiLstm:
    """A character and a token BiLSTM with a class for each PHI type; masks what is not most probably safe.

    Unlike the paper it is trained by Adam in small batches, its word vectors are those of
    the packaged model and are not trained, it labels tokens without BIO, and the CRF's
    class of a token is the one of the highest marginal. `softmax` classifies each token by
    itself, `crf` neighbours together.

    Raises:
        ConfigurationError: TensorFlow is not installed.

    Source:
        Dernoncourt et al. 2017, "De-identification of patient notes with recurrent neural
        networks", JAMIA 24(3); the settings of variant a of the thesis, table 4.3.
    """

    source = "Dernoncourt et al. 2017, on this package's network code; Adam, fixed word vectors"

    def __init__(
        self,
        output: Output,
        *,
        network: NetworkConfig = NETWORK,
        training: TrainingConfig = TRAINING,
        n_epochs: int | None = None,
        vectors: WordVectors | None = None,
    ) -> None:
        self.name, self.title = _NAMES[output]
        if find_spec("tensorflow") is None:
            raise missing_extra(f"the system {self.name}", "tensorflow", "train")
        self._network = change_settings(network, output=output)
        self._training = change_settings(training, epochs=n_epochs or training.epochs)
        self._vectors = vectors
        self._trained: Network | None = None

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn for the given number of epochs, without validation.

        Raises:
            StageError: The loss is not a number, or the device is out of memory.
        """
        from inverse_deid.network.training import fit
        from inverse_deid.training.run import load_word_vectors, model_parts

        training = change_settings(self._training, seed=seed)
        vectors = self._vectors or load_word_vectors(None)
        network = new_network(self._network, vectors, seed)
        recipe = EpochRecipe(
            gold=docs, carriers=(), network=self._network, training=training, vectors=vectors
        )
        examples = EpochMaker(recipe).examples(0)
        fit(network, lambda epoch: examples, training)
        self._trained = Network(model_parts(network, self._network, vectors))

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token whose most probable class is a PHI type."""
        if self._trained is None:
            raise not_fitted(self.name)
        return self._trained.masks(docs)

    def sweep(self, docs: Sequence[Document]) -> Sweep:
        """Return the masks at every probability of *safe*."""
        if self._trained is None:
            raise not_fitted(self.name)
        return self._trained.sweep(docs)
