"""Train an encoder: it guesses hidden words of texts, then learns classes from labels and a teacher.

Both are what `network.training.fit_epochs` does, over batches of word pieces.

Source: Gururangan et al. 2020 (reading texts of the field first); Hinton, Vinyals and Dean 2015 (teachers).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.core.wording import _
from inverse_deid.network.batches import blend_targets, group_by_length
from inverse_deid.network.checkpoints import Checkpoints, State
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.network.training import EpochBatches, Run, WarmUpThenDecay, fit_epochs, make_loss
from inverse_deid.training.config import EncoderConfig
from inverse_deid.training.encoders.encoder import EncoderBody, build_guesser
from inverse_deid.training.encoders.passes import Pass, cut_again

Passes = Callable[[int], Pass]
"""Returns the pass of a number, from 0."""
Opinions = Callable[[int, Pass], npt.NDArray[np.float16]]
"""Returns a teacher's class probabilities of the tokens of a pass: float16 (n_tokens, n_classes)."""

_HIDDEN_IN_READING = 0.15
"""Share of the words to guess: of their pieces 8 in 10 are hidden, 1 is another one, and 1 stays."""
_READING_WARM_UP = 0.05
_JITTER = 4
"""Pieces by which windows of a batch may differ in length more than they need to."""
_WEIGHT_DECAY = 0.01
_CLIP_NORM = 1.0


def gather_windows(
    one: Pass, windows: IntArray, pad: int, n_more: int = 0
) -> tuple[dict[str, np.ndarray], IntArray]:
    """Return windows of a pass as the inputs of an encoder, and the numbers of their tokens in the pass.

    They are padded to the length of the longest and `n_more`.
    """
    piece_starts, token_starts = one.piece_bounds[windows], one.token_bounds[windows]
    n_pieces = one.piece_bounds[windows + 1] - piece_starts
    n_tokens = one.token_bounds[windows + 1] - token_starts
    rows = np.repeat(np.arange(len(windows)), n_tokens)
    before = np.cumsum(n_tokens) - n_tokens
    tokens = np.arange(len(rows)) + (token_starts - before)[rows]
    longest = int(n_pieces.max()) + n_more
    positions = np.arange(longest)
    valid = positions < n_pieces[:, None]
    places = np.minimum(piece_starts[:, None] + positions, len(one.pieces) - 1)
    owners = one.owners[places]
    inputs = {
        "pieces": np.where(valid, one.pieces[places], pad),
        "lengths": n_pieces,
        "owners": np.where(valid & (owners >= 0), owners - (token_starts - before)[:, None], len(rows)),
        "first": one.first[tokens] - (piece_starts - np.arange(len(windows)) * longest)[rows],
        "shapes": one.shapes[tokens],
    }
    integers = {name: values.astype(np.int32) for name, values in inputs.items()}
    return {**integers, "features": one.features[tokens].astype(np.float32)}, tokens


class ClassBatches(EpochBatches):
    """Batches of tokens with their classes. Where labels are in doubt, a teacher decides alone.

    Args:
        passes: Gives the windows.
        vocabulary: Of the encoder.
        config: Seed, and weights of what the teacher says.
        encoder: Size of a batch.
        opinions: Of a teacher.
        n_batches: As in `EpochBatches`.
        n_classes: Of the encoder.
    """

    def __init__(  # noqa: PLR0913 - what a batch is made of
        self,
        passes: Passes,
        vocabulary: Vocabulary,
        config: TrainingConfig,
        encoder: EncoderConfig,
        opinions: Opinions | None = None,
        n_batches: int = 0,
        *,
        n_classes: int,
    ) -> None:
        super().__init__(encoder.batch_pieces, _JITTER, config.seed, n_batches)
        self._passes, self._pad, self._config = passes, vocabulary.pad, config
        self._opinions, self._n_classes = opinions, n_classes
        self._shortest = encoder.shortest_window

    def take(self, epoch: int, rng: np.random.Generator) -> IntArray:
        """Take a pass, with the teacher's opinion of it."""
        one = self._passes(epoch // self._config.repeats)
        self.n_tokens = len(one.first)
        self._opinion = one.opinion
        self._weights = one.weights.astype(np.float32)
        if self._opinions is not None:
            in_doubt = self._weights == 0
            share = np.where(in_doubt, 1.0, self._config.teacher_weight)[:, None]
            self._opinion = (self._opinions(epoch // self._config.repeats, one) * share).astype(np.float16)
            self._weights[in_doubt] = self._config.weak_weight
        if self._shortest:
            one = cut_again(one, self._shortest, self._config.window, rng)
        self._one = one
        return np.diff(one.piece_bounds)

    def read(
        self, group: Sequence[int], index: int, n_more: int
    ) -> tuple[dict[str, np.ndarray], FloatArray, FloatArray]:
        """Return inputs, class probabilities to learn, and weights."""
        inputs, tokens = gather_windows(self._one, np.array(group, np.int32), self._pad, n_more)
        labels = self._one.labels[tokens].astype(np.int32)
        return inputs, blend_targets(labels, self._opinion[tokens], self._n_classes), self._weights[tokens]


class HiddenWords(EpochBatches):
    """Batches of pieces of which some are hidden, and are to be guessed."""

    def __init__(
        self, texts: Pass, vocabulary: Vocabulary, encoder: EncoderConfig, seed: int, n_batches: int = 0
    ) -> None:
        super().__init__(encoder.batch_pieces, _JITTER, seed, n_batches)
        self._texts, self._vocabulary, self._hiding_seed = texts, vocabulary, seed

    def take(self, epoch: int, rng: np.random.Generator) -> IntArray:
        """Take all texts."""
        self.n_tokens = len(self._texts.first)
        return np.diff(self._texts.piece_bounds)

    def read(
        self, group: Sequence[int], index: int, n_more: int
    ) -> tuple[dict[str, np.ndarray], IntArray, FloatArray]:
        """Return pieces and the places of the hidden ones, these, and weights of 1."""
        rng = np.random.default_rng([self._hiding_seed, self.epoch, index])
        inputs, _ = gather_windows(self._texts, np.array(group, np.int32), self._vocabulary.pad, n_more)
        pieces, owners = inputs["pieces"], inputs["owners"]
        chosen: BoolArray = rng.random(len(inputs["first"]) + 1) < _HIDDEN_IN_READING
        chosen[rng.integers(len(chosen) - 1)] = True  # at least one word
        chosen[-1] = False
        to_guess = chosen[owners]
        fate = rng.random(pieces.shape)
        others = rng.choice(pieces.ravel(), pieces.shape)
        hidden = self._vocabulary.hidden
        shown = np.where(fate < 0.8, hidden, np.where(fate < 0.9, others, pieces)).astype(np.int32)
        places = np.flatnonzero(to_guess).astype(np.int32)
        given = {
            "pieces": np.where(to_guess, shown, pieces),
            "lengths": inputs["lengths"],
            "places": places,
        }
        return given, pieces.ravel()[places], np.ones(len(places), np.float32)


class PretrainedAdamW(keras.optimizers.AdamW):  # type: ignore[misc]
    """AdamW with another learning rate, `head_share` times that of the body, for all other layers."""

    def __init__(self, rate: Any, head_share: float = 1.0) -> None:  # noqa: ANN401
        super().__init__(rate, weight_decay=_WEIGHT_DECAY, epsilon=1e-8, global_clipnorm=_CLIP_NORM)
        self._head_share = head_share

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:  # noqa: ANN401
        """Update a weight."""
        own = self._trainable_variables[self._get_variable_index(variable)]
        share = 1.0 if own.path.startswith("body/") else self._head_share
        super().update_step(gradient, variable, learning_rate * share)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderTraining:
    """One training of an encoder, in place.

    Args:
        network: What learns (`build_encoder`).
        vocabulary: Of the encoder.
        passes: Returns the pass of a number, from 0.
        config: Passes, warm-up, seed; the learning rates are those of `encoder`.
        encoder: Settings of encoders alone.
        checkpoints: Keep the state after each pass; an interrupted run resumes from it.
        callbacks: Of Keras.
        opinions: Of a teacher, learned along with the labels.
    """

    network: keras.Model
    vocabulary: Vocabulary = field(repr=False)
    passes: Passes
    config: TrainingConfig
    encoder: EncoderConfig
    checkpoints: Checkpoints | None = None
    callbacks: Sequence[keras.callbacks.Callback] = ()
    opinions: Opinions | None = None

    def run(self) -> None:
        """Train all passes that are not done.

        Raises:
            StageError: The loss is not a number.
            ConfigurationError: The checkpoint is damaged, or of another run.
        """
        config, encoder = self.config, self.encoder
        keras.utils.set_random_seed(config.seed)
        state = (self.checkpoints.read() if self.checkpoints else None) or State()
        data = ClassBatches(
            self.passes,
            self.vocabulary,
            config,
            encoder,
            self.opinions,
            state.n_batches,
            n_classes=int(self.network.output_shape[-1]),
        )
        if state.epoch < config.epochs:
            data.begin(state.epoch)
        n_steps = config.epochs * max(1, data.n_batches)
        rate = WarmUpThenDecay(encoder.learning_rate, n_steps, config.warm_up, config.final_rate)
        self.network.compile(
            PretrainedAdamW(rate, encoder.head_rate / encoder.learning_rate),
            make_loss(self.network),
            jit_compile=False,
        )
        run = Run(data, config.epochs, config.seed, state, checkpoints=self.checkpoints)
        fit_epochs(self.network, run, self.callbacks)


def read_texts(  # noqa: PLR0913 - what a training is made of
    body: EncoderBody,
    texts: Pass,
    vocabulary: Vocabulary,
    encoder: EncoderConfig,
    seed: int,
    *,
    checkpoints: Checkpoints | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> None:
    """Let an encoder guess hidden words of texts, in place. Its word vectors stay.

    Raises:
        StageError: The loss is not a number.
        ConfigurationError: The checkpoint is damaged, or of another run.
    """
    keras.utils.set_random_seed(seed)
    state = (checkpoints.read() if checkpoints else None) or State()
    data = HiddenWords(texts, vocabulary, encoder, seed, state.n_batches)
    if state.epoch < encoder.reading_passes:
        data.begin(state.epoch)
    guesser = build_guesser(body)
    n_steps = encoder.reading_passes * max(1, data.n_batches)
    guesser.compile(
        PretrainedAdamW(WarmUpThenDecay(encoder.reading_rate, n_steps, _READING_WARM_UP, 0.0)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight"),
        jit_compile=False,
    )
    run = Run(data, encoder.reading_passes, seed, state, checkpoints=checkpoints)
    fit_epochs(guesser, run, callbacks)


class StoredOpinions:
    """Asks a trained encoder for its opinion of each pass once, and keeps it in a file beside the passes.

    Several trainings, and a resumed one, read the same file.

    Args:
        network: The teacher.
        numbers: int32 (n_pieces,), the teacher's number of each piece.
        pad: The student's piece for padding.
        folder: For the files.
        key: Tells teachers apart.
    """

    def __init__(self, network: keras.Model, numbers: IntArray, pad: int, folder: Path, key: str) -> None:
        self._network, self._numbers, self._pad = network, numbers, pad
        self._folder, self._key = folder, hashlib.sha256(key.encode()).hexdigest()[:12]

    def __call__(self, number: int, one: Pass) -> npt.NDArray[np.float16]:
        """Return class probabilities: float16 (n_tokens, n_classes).

        Raises:
            StageError: The teacher returned something else.
        """
        path = self._folder / f"pass-{number:04}.opinion-{self._key}.npy"
        shape = (len(one.first), int(self._network.output_shape[-1]))
        try:
            found = np.load(path, allow_pickle=False)
            if found.shape == shape:
                return np.asarray(found, np.float16)
        except (OSError, EOFError, ValueError):
            pass  # not made yet, or damaged
        found = np.zeros(shape, np.float16)
        for group in group_by_length(np.diff(one.piece_bounds), _SCORING_PIECES):
            inputs, tokens = gather_windows(one, np.array(group, np.int32), self._pad)
            inputs["pieces"] = self._numbers[inputs["pieces"]]
            found[tokens] = self._network.predict_on_batch(inputs)
        if not np.isfinite(found).all():
            raise StageError(_("the opinion of the teacher is not a number. Train it again"))
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        with partial.open("wb") as file:
            np.save(file, found)
        partial.replace(path)
        return found


_SCORING_PIECES = 8192
