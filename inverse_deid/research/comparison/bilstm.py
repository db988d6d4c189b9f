"""A bidirectional LSTM over characters and words that takes the most probable class."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.network.config import NetworkConfig, Output, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.comparison.packaged import MostProbableClass
from inverse_deid.research.comparison.systems import not_fitted
from inverse_deid.research.studies.training import new_network
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe

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


class BiLstm:
    """A character and a token BiLSTM with a class for each PHI type; masks what is not most probably safe.

    Unlike the paper it is trained by Adam in small batches, its word vectors are those of
    the packaged model and are not trained, it labels tokens without BIO, and the CRF's
    class of a token is the one of the highest marginal.

    Args:
        output: `softmax` classifies each token by itself, `crf` neighbours together.
        network: Sizes; the output is set.
        training: Rates; the seed is set by `fit`.
        n_epochs: Passes over the training documents; None = those of `training`.
        vectors: The vocabulary; None = that of the packaged model.

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
        if find_spec("tensorflow") is None:
            raise missing_extra(f"the system {_NAMES[output]}", "tensorflow", "compare")
        self.name = _NAMES[output]
        self.title = _TITLES[output]
        self._network = change_settings(network, output=output)
        self._training = change_settings(training, epochs=n_epochs or training.epochs)
        self._vectors = vectors
        self._trained: MostProbableClass | None = None

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
        self._trained = MostProbableClass(model_parts(network, self._network, vectors))

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token whose most probable class is a PHI type."""
        if self._trained is None:
            raise not_fitted(self.name)
        return self._trained.masks(docs)


_NAMES: dict[Output, str] = {"softmax": "bilstm", "crf": "bilstm-crf"}
_TITLES: dict[Output, str] = {"softmax": "BiLSTM", "crf": "BiLSTM and CRF"}
