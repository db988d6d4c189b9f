"""The three extractors in Keras: one tagger, two that share their input, and one above the other.

Source: Lange, Adel and Strötgen 2020, sections 3.1 and 3.3, figure 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
from keras import layers

from inverse_deid.core.values import FloatArray
from inverse_deid.network.crf import Crf
from inverse_deid.network.encoding import N_GAP_CHARACTERS
from inverse_deid.network.network import character_encoder, gap_embedding, word_embedding
from inverse_deid.research.extraction.bio import label_names
from inverse_deid.research.extraction.config import TaggerConfig
from inverse_deid.research.extraction.masked_embedding import GumbelChoice, MaskedEmbedding
from inverse_deid.research.extraction.passage_inputs import CONCEPTS, PHI, Types

MASKED = "masked_embedding"
CHOICE = "choice"


@dataclass(frozen=True, slots=True, eq=False)
class TaggerNetwork:
    """An extractor.

    Args:
        model: Inputs to the class probabilities of each task, float32 (batch, time, n_labels).
        scorer: The same inputs to the scores before the CRF.
    """

    model: keras.Model = field(repr=False)
    scorer: keras.Model = field(repr=False)

    def crf(self, task: str) -> Crf:
        """The CRF of a task."""
        crf: Crf = self.model.get_layer(f"{task}_crf")
        return crf

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order of the model's outputs."""
        return tuple(self.model.output)

    def parts(self) -> tuple[list[Any], list[Any]]:
        """Trainable variables: those of the concept part of a joint model, and all others."""
        is_joint = len(self.tasks) > 1
        above = {
            id(variable)
            for layer in self.model.layers
            if is_joint and (layer.name.startswith(CONCEPTS) or layer.name == MASKED)
            for variable in layer.trainable_variables
        }
        variables = self.model.trainable_variables
        return [v for v in variables if id(v) in above], [v for v in variables if id(v) not in above]


def build_tagger(
    config: TaggerConfig, types: Types, word_matrix: FloatArray, *, n_further: int = 0, seed: int = 0
) -> TaggerNetwork:
    """Build an extractor.

    Args:
        config: Kind and sizes.
        types: Of each task: one of them for a tagger, both for the joint kinds.
        word_matrix: float32 (n_words + 1, word_dim), as for the masking network.
        n_further: Further numbers that each token comes with.
        seed: Of the draws of the Gumbel softmax.

    Returns:
        Models of the inputs `characters`, `distinct`, `words`, `gaps`, `valid` and, with
        further numbers, `features`, as in `deep.network.build_network`.
    """
    inputs = _inputs(config, n_further)
    vectors = _token_vectors(config, inputs, word_matrix)
    names = {task: label_names(kinds) for task, kinds in types.items()}
    crfs = {task: Crf(name=f"{task}_crf") for task in names}
    if config.kind == "stacked":
        scores = _stacked(config, names, vectors, inputs["valid"], crfs[PHI], seed)
    else:
        hidden = _bilstm(config, vectors, inputs["valid"], "token")
        scores = {task: _scores(config, task, len(labels), hidden) for task, labels in names.items()}
    probabilities = {task: crfs[task](found, inputs["valid"]) for task, found in scores.items()}
    return TaggerNetwork(
        keras.Model(inputs, probabilities, name="extractor"), keras.Model(inputs, scores, name="scorer")
    )


def _inputs(config: TaggerConfig, n_further: int) -> dict[str, keras.KerasTensor]:
    inputs = {
        "characters": layers.Input((config.max_characters,), dtype="int32", name="characters"),
        "distinct": layers.Input((None,), dtype="int32", name="distinct"),
        "words": layers.Input((None,), dtype="int32", name="words"),
        "gaps": layers.Input((None, N_GAP_CHARACTERS), dtype="int32", name="gaps"),
        "valid": layers.Input((None,), dtype="bool", name="valid"),
    }
    if n_further:
        inputs["features"] = layers.Input((None, n_further), dtype="float32", name="features")
    return inputs


def _token_vectors(
    config: TaggerConfig, inputs: Mapping[str, keras.KerasTensor], word_matrix: FloatArray
) -> keras.KerasTensor:
    of_characters = character_encoder(config.characters)(inputs["characters"])
    parts = [
        keras.ops.take(of_characters, inputs["distinct"], axis=0),
        word_embedding(inputs["words"], word_matrix, learned=config.learn_words),
        gap_embedding(inputs["gaps"], config.gap_dim),
    ]
    if "features" in inputs:
        parts.append(inputs["features"])
    joined = layers.Concatenate(name="token_vector")(parts)
    return layers.Dropout(config.dropout, name="token_dropout")(joined)


def _bilstm(
    config: TaggerConfig, vectors: keras.KerasTensor, valid: keras.KerasTensor, name: str
) -> keras.KerasTensor:
    lstm = layers.LSTM(config.token_units, return_sequences=True, name="lstm")
    hidden = layers.Bidirectional(lstm, name=f"{name}_lstm")(vectors, mask=valid)
    return layers.Dropout(config.dropout, name=f"{name}_lstm_dropout")(hidden)


def _scores(config: TaggerConfig, task: str, n_labels: int, hidden: keras.KerasTensor) -> keras.KerasTensor:
    if config.kind == "multitask":
        hidden = layers.Dense(config.hidden_units, activation="relu", name=f"{task}_hidden")(hidden)
    return layers.Dense(n_labels, name=f"{task}_scores")(hidden)


def _stacked(
    config: TaggerConfig,
    names: Mapping[str, tuple[str, ...]],
    vectors: keras.KerasTensor,
    valid: keras.KerasTensor,
    crf: Crf,
    seed: int,
) -> dict[str, keras.KerasTensor]:
    """The scores of the de-identifier, and of the extractor that sees what it lets through."""
    phi_scores = _scores(config, PHI, len(names[PHI]), _bilstm(config, vectors, valid, "phi_token"))
    choice = GumbelChoice(config.temperature, seed, name=CHOICE)(crf(phi_scores, valid))
    # labels are B and I of each class in turn
    classes = tuple(i // 2 for i in range(len(names[PHI]) - 1))
    seen = MaskedEmbedding(classes, name=MASKED)(vectors, choice)
    hidden = _bilstm(config, seen, valid, f"{CONCEPTS}_token")
    return {PHI: phi_scores, CONCEPTS: _scores(config, CONCEPTS, len(names[CONCEPTS]), hidden)}
