"""The network in Keras: layers, functional model, config. For training only.

Source: thesis, section 4.3.4 and figure 4.2 (after Dernoncourt et al. 2017),
with one or more token layers, a dense layer over the rule features and the
characters of a batch's *distinct* words encoded once and gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

from inverse_deid.core.values import FloatArray
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import N_CHARACTER_CODES, N_GAP_CHARACTERS, one_hot_characters


def make_usual_lstm(units: int, *, one_hot: bool = False, **options: Any) -> layers.LSTM:  # noqa: ANN401
    """Return an LSTM: ours, which is faster on a processor, or Keras's on other backends than TensorFlow.

    Both have the same weights and results. `one_hot` says that each input is 1 at one place and 0 elsewhere.
    """
    if keras.backend.backend() != "tensorflow":
        return layers.LSTM(units, **options)
    from inverse_deid.network.lstm import PackedLSTM

    return PackedLSTM(units, one_hot=one_hot, **options)


def build_network(
    config: NetworkConfig,
    n_features: int,
    word_matrix: FloatArray,
    make_lstm: Callable[..., layers.LSTM] = make_usual_lstm,
) -> keras.Model:
    """Build the network.

    Args:
        config: Sizes and variants.
        n_features: Features per token, after selection by `config.feature_set`.
        word_matrix: float32 (n_words + 1, word_dim); row 0 is zero. It belongs to
            unknown words, which share a learned vector. The others are fixed unless
            `config.learn_words`.
        make_lstm: Makes an LSTM from the arguments of `make_usual_lstm`.

    Returns:
        A model of the inputs
        `characters` int32 (n_distinct, max_characters), 0 = padding,
        `distinct` int32 (batch, time): the row of `characters` of each token,
        `words` int32 (batch, time): row of the word matrix,
        `gaps` int32 (batch, time, 3), `features` float32 (batch, time, n_features),
        `valid` bool (batch, time); the output is float32 (batch, time, n_classes),
        class probabilities, of which the first is `p_safe`.
    """
    inputs = make_inputs(config, n_features)
    word_vectors = character_encoder(config, make_lstm)(inputs["characters"])
    gathered = keras.ops.take(word_vectors, inputs["distinct"], axis=0)
    parts = [gathered, word_embedding(inputs["words"], word_matrix, learned=config.learn_words)]
    if config.post_space:
        parts.append(gap_embedding(inputs["gaps"], config.gap_dim))
    if n_features:
        dense = layers.Dense(config.feature_units, activation="relu", name="feature_dense")
        parts.append(dense(inputs["features"]))
    hidden = layers.Concatenate(name="token_vector")(parts)
    hidden = layers.Dropout(config.dropout, name="token_dropout")(hidden)
    if config.narrow_units:
        hidden = layers.Dense(config.narrow_units, name="narrow_dense")(hidden)
    for i in range(config.token_layers):
        lstm = make_lstm(config.token_units, return_sequences=True, name=f"lstm_{i + 1}")
        hidden = layers.Bidirectional(lstm, name=f"token_lstm_{i}")(hidden, mask=inputs["valid"])
        if config.lstm_dropout:
            hidden = layers.Dropout(config.dropout, name=f"lstm_dropout_{i}")(hidden)
    if config.hidden_units:
        hidden = layers.Dense(config.hidden_units, activation="tanh", name="hidden_dense")(hidden)
    n_classes = len(class_names(config.targets))
    if config.output == "crf":
        from inverse_deid.network.crf import Crf  # needs TensorFlow

        scores = layers.Dense(n_classes, name="classes")(hidden)
        output = Crf(name="crf", learns_scores=True)(scores, inputs["valid"])
    else:
        output = layers.Dense(n_classes, activation="softmax", name="classes")(hidden)
    return keras.Model(inputs, output, name="safe_token_network")


def make_inputs(config: NetworkConfig, n_features: int) -> dict[str, keras.KerasTensor]:
    """Return the inputs that `build_network` describes."""
    inputs = {
        "characters": layers.Input((config.max_characters,), dtype="int32", name="characters"),
        "distinct": layers.Input((None,), dtype="int32", name="distinct"),
        "words": layers.Input((None,), dtype="int32", name="words"),
        "valid": layers.Input((None,), dtype="bool", name="valid"),
    }
    if config.post_space:
        inputs["gaps"] = layers.Input((None, N_GAP_CHARACTERS), dtype="int32", name="gaps")
    if n_features:
        inputs["features"] = layers.Input((None, n_features), dtype="float32", name="features")
    return inputs


def character_encoder(
    config: NetworkConfig, make_lstm: Callable[..., layers.LSTM] = make_usual_lstm
) -> keras.Model:
    """Return the part that reads one word's characters.

    Returns:
        A model from int32 (n, max_characters) to float32 (n, 2 * char_units).
    """
    codes = layers.Input((config.max_characters,), dtype="int32")
    learned = config.characters == "learned"
    fixed = keras.initializers.Constant(one_hot_characters(config.char_dim)) if not learned else "uniform"
    embedding = layers.Embedding(
        N_CHARACTER_CODES,
        config.char_dim,
        embeddings_initializer=fixed,
        trainable=learned,
        mask_zero=True,
        name="character_embedding",
    )
    lstm = make_lstm(config.char_units, one_hot=not learned, name="lstm")
    vectors = layers.Bidirectional(lstm, name="character_lstm")(embedding(codes))
    return keras.Model(codes, vectors, name="character_encoder")


def gap_embedding(gaps: keras.KerasTensor, dim: int) -> keras.KerasTensor:
    """Return learned vectors of the characters after each token: (batch, time, 3 * dim)."""
    vectors = layers.Embedding(N_CHARACTER_CODES, dim, name="gap_embedding")(gaps)
    return layers.Reshape((-1, N_GAP_CHARACTERS * dim), name="gap_vectors")(vectors)


def word_embedding(words: keras.KerasTensor, matrix: FloatArray, *, learned: bool) -> keras.KerasTensor:
    """Return fixed (or learned) vectors of known words plus one learned vector for all unknown ones."""
    fixed = layers.Embedding(
        *matrix.shape,
        embeddings_initializer=keras.initializers.Constant(np.asarray(matrix)),
        trainable=learned,
        name="word_embedding",
    )
    unknown = layers.Embedding(1, matrix.shape[1], name="unknown_word")
    is_unknown = keras.ops.equal(words, 0)
    of_unknown = unknown(keras.ops.zeros_like(words))
    return fixed(words) + of_unknown * keras.ops.cast(is_unknown, of_unknown.dtype)[..., None]
