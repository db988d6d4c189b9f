"""Train an encoder: it guesses hidden words of texts, then learns classes from labels and a teacher.

Source: Gururangan et al. 2020 (reading texts of the field first); Hinton, Vinyals and Dean 2015 (teachers).
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import IntArray
from inverse_deid.core.wording import _
from inverse_deid.network.batches import group_by_length
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.training.config import EncoderConfig
from inverse_deid.training.encoders.encoder import READING_ERRORS, Body, EncoderNetwork
from inverse_deid.training.encoders.passes import Pass

_SECONDS_BETWEEN_LINES = 60
_HIDDEN_IN_READING = 0.15
"""Share of the words to guess: of their pieces 8 in 10 are hidden, 1 is another one, and 1 stays."""
_READING_WARM_UP = 0.05
_JITTER = 4
"""Pieces by which windows of a batch may differ in length more than they need to."""


class PassOnDevice:
    """A pass in the memory of a device, from which batches of windows are gathered."""

    def __init__(self, one: Pass, pad: int, device: torch.device) -> None:
        def put(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array).to(device)

        self._pieces, self._owners, self._first = put(one.pieces), put(one.owners), put(one.first)
        self._shapes, self._features = put(one.shapes), put(one.features)
        self.labels, self.weights = put(one.labels), put(one.weights)
        self._piece_bounds, self._token_bounds = one.piece_bounds, one.token_bounds
        self._pad = pad
        self._device = device

    def groups(self, batch_pieces: int, rng: np.random.Generator) -> Iterator[IntArray]:
        """Yield the numbers of windows of similar length, about `batch_pieces` with padding."""
        for group in group_by_length(np.diff(self._piece_bounds), batch_pieces, _JITTER, rng):
            yield np.array(group, np.int32)

    def batch(self, windows: IntArray) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Return windows as the inputs of `EncoderNetwork`, and the numbers of their tokens in the pass."""
        piece_starts, token_starts = self._piece_bounds[windows], self._token_bounds[windows]
        n_pieces = self._piece_bounds[windows + 1] - piece_starts
        n_tokens = self._token_bounds[windows + 1] - token_starts
        rows = np.repeat(np.arange(len(windows)), n_tokens)
        before = np.cumsum(n_tokens) - n_tokens
        numbers = np.arange(len(rows)) + (token_starts - before)[rows]
        longest = int(n_pieces.max())

        def put(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(array.astype(np.int64)).to(self._device)

        tokens, starts, lengths = put(numbers), put(piece_starts), put(n_pieces)
        positions = torch.arange(longest, device=self._device)
        valid = positions[None, :] < lengths[:, None]
        places = (starts[:, None] + positions).clamp(max=len(self._pieces) - 1)
        owners = self._owners[places].long()
        local = owners - put(token_starts - before)[:, None]
        inputs = {
            "pieces": torch.where(valid, self._pieces[places].long(), self._pad),
            "lengths": lengths,
            "owners": torch.where(valid & (owners >= 0), local, len(rows)),
            "first": self._first[tokens].long()
            - put((piece_starts - np.arange(len(windows)) * longest)[rows]),
            "shapes": self._shapes[tokens].long(),
            "features": self._features[tokens].float(),
        }
        return inputs, tokens


@dataclass(frozen=True, slots=True, eq=False)
class EncoderTeacher:
    """A trained encoder that another one learns from.

    Args:
        network: On the same device.
        numbers: int64 (n_pieces,), the teacher's number of each piece.
        share: Share of its opinion in the target of a token that has a label.
    """

    network: EncoderNetwork
    numbers: torch.Tensor = field(repr=False)
    share: float

    def opinion(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return class probabilities: float32 (n_tokens, n_classes)."""
        with torch.no_grad():
            scores = self.network({**inputs, "pieces": self.numbers[inputs["pieces"]]})
            return torch.softmax(scores.float(), dim=-1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderTraining:
    """One training of an encoder, in place.

    Args:
        network: What learns, on its device.
        vocabulary: Of the encoder.
        passes: Returns the pass of a number, from 0.
        config: Passes, warm-up, seed; the learning rates are those of `encoder`.
        encoder: Settings of encoders alone.
        checkpoint: File for the state after each pass; an interrupted run resumes from it.
        key: Identifies what decides the weights. The checkpoint of another run is refused.
        say: Receives lines of progress, numbers only.
        teacher: Whose opinion is learned along with the labels.
    """

    network: EncoderNetwork
    vocabulary: Vocabulary = field(repr=False)
    passes: Callable[[int], Pass]
    config: TrainingConfig
    encoder: EncoderConfig
    checkpoint: Path
    key: str = ""
    say: Callable[[str], None]
    teacher: EncoderTeacher | None = None

    def run(self) -> None:
        """Train all passes that are not done.

        Raises:
            StageError: The loss is not a number.
            ConfigurationError: The checkpoint is damaged, or of another run.
        """
        body = [weight for weight in self.network.body.parameters() if weight.requires_grad]
        heads = [w for name, w in self.network.named_parameters() if not name.startswith("body.")]
        optimizer = torch.optim.AdamW([{"params": body}, {"params": heads}], weight_decay=0.01)
        n_done = self._restore(optimizer)
        self.network.train()
        for number in range(n_done, self.config.epochs):
            self._pass(number, optimizer)
            state = {"network": self.network.state_dict(), "optimizer": optimizer.state_dict()}
            partial = self.checkpoint.with_suffix(".partial")
            torch.save({**state, "epoch": number + 1, "key": self.key}, partial)
            partial.replace(self.checkpoint)

    def _restore(self, optimizer: torch.optim.Optimizer) -> int:
        if not self.checkpoint.exists():
            return 0
        remedy = "delete the file to train from the start"
        try:
            state = torch.load(self.checkpoint, weights_only=True, map_location="cpu")
        except (*READING_ERRORS, pickle.UnpicklingError) as error:
            raise ConfigurationError(
                _(
                    "{checkpoint}: damaged. To start again, {remedy}",
                    checkpoint=self.checkpoint,
                    remedy=remedy,
                )
            ) from error
        if state.get("key") != self.key:
            raise ConfigurationError(
                _(
                    "{checkpoint}: made with another configuration or other data. Restore them, or {remedy}",
                    checkpoint=self.checkpoint,
                    remedy=remedy,
                )
            )
        self.network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        self.say(
            _("resuming after pass {epoch} of {epochs}", epoch=state["epoch"], epochs=self.config.epochs)
        )
        return int(state["epoch"])

    def _pass(self, number: int, optimizer: torch.optim.Optimizer) -> None:
        torch.manual_seed(self.config.seed * 1000 + number)  # so that a resumed run ends alike
        device = self.network.classes.weight.device
        started = time.perf_counter()
        one = PassOnDevice(self.passes(number), self.vocabulary.pad, device)
        begun = told = time.perf_counter()
        total, weight = torch.zeros((), device=device), torch.zeros((), device=device)
        groups = list(
            one.groups(self.encoder.batch_pieces, np.random.default_rng([self.config.seed, number]))
        )
        for i, group in enumerate(groups):
            progress = (number + i / len(groups)) / self.config.epochs
            rate = _rise_and_fall(progress, self.config.warm_up, self.config.final_rate)
            optimizer.param_groups[0]["lr"] = self.encoder.learning_rate * rate
            optimizer.param_groups[1]["lr"] = self.encoder.head_rate * rate
            loss, load = self._step(one, group, optimizer)
            total += loss
            weight += load
            if time.perf_counter() - told > _SECONDS_BETWEEN_LINES:
                told = time.perf_counter()
                self.say(
                    _(
                        "pass {number}: batch {i} of {n_groups}, loss {mean:.4f}",
                        number=number + 1,
                        i=i,
                        n_groups=len(groups),
                        mean=_mean(total, weight),
                    )
                )
        if not torch.isfinite(total):
            raise StageError(
                _("the loss of pass {number} is not a number. Lower encoder.learning_rate", number=number + 1)
            )
        seconds, waited = time.perf_counter() - begun, begun - started
        self.say(
            _(
                "pass {number} of {epochs}: loss {mean:.4f}, {seconds:.1f} s, waited {waited:.1f} s",
                number=number + 1,
                epochs=self.config.epochs,
                mean=_mean(total, weight),
                seconds=seconds,
                waited=waited,
            )
        )

    def _step(
        self, one: PassOnDevice, group: IntArray, optimizer: torch.optim.Optimizer
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Learn from one batch, and return the sum of its weighted losses and that of the weights."""
        inputs, tokens = one.batch(group)
        with torch.autocast(inputs["pieces"].device.type, torch.bfloat16, enabled=self.encoder.bfloat16):
            opinion = self.teacher.opinion(inputs) if self.teacher else None
            scores = self.network(inputs)
        targets, weights = self._targets(one.labels[tokens].long(), one.weights[tokens].float(), opinion)
        losses = nn.functional.cross_entropy(scores.float(), targets, reduction="none")
        loss = (losses * weights).sum()
        optimizer.zero_grad(set_to_none=True)
        (loss / weights.sum().clamp(min=1)).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        optimizer.step()
        return loss.detach(), weights.sum()

    def _targets(
        self, labels: torch.Tensor, weights: torch.Tensor, opinion: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the targets and weights of tokens. Where labels are in doubt, the teacher decides alone."""
        targets = nn.functional.one_hot(labels, self.network.classes.out_features).float()
        if opinion is None or self.teacher is None:
            return targets, weights
        in_doubt = weights == 0
        share = torch.where(in_doubt, 1.0, self.teacher.share)[:, None]
        return targets * (1 - share) + opinion * share, torch.where(
            in_doubt, self.config.weak_weight, weights
        )


def _rise_and_fall(progress: float, warm_up: float, final: float) -> float:
    """Return the learning rate as a share of its peak: a linear rise, then a linear fall."""
    if progress < warm_up:
        return (progress + 1e-4) / warm_up
    return 1 - (1 - final) * (progress - warm_up) / max(1e-9, 1 - warm_up)


def _mean(total: torch.Tensor, weight: torch.Tensor) -> float:
    return float(total) / max(float(weight), 1.0)


class _Guesses(nn.Module):  # type: ignore[misc]
    """Guesses hidden pieces: a dense layer that begins as the identity, then the word vectors."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        size = body.config.hidden_size
        self.words = body.embeddings.word_embeddings.weight
        self.dense = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
        self.bias = nn.Parameter(torch.zeros(len(self.words)))
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def forward(self, read: torch.Tensor) -> torch.Tensor:
        """Return the scores of all pieces."""
        hidden = self.norm(nn.functional.gelu(self.dense(read)))
        return nn.functional.linear(hidden, self.words, self.bias)


def read_texts(
    body: Body,
    texts: Pass,
    vocabulary: Vocabulary,
    encoder: EncoderConfig,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Let an encoder guess hidden words of texts, in place. Its word vectors stay.

    Raises:
        StageError: The loss is not a number.
    """
    torch.manual_seed(seed)
    device = body.embeddings.word_embeddings.weight.device
    body.embeddings.word_embeddings.requires_grad_(False)
    guesses = _Guesses(body).to(device)
    weights = [w for w in (*body.parameters(), *guesses.parameters()) if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, weight_decay=0.01)
    one = PassOnDevice(texts, vocabulary.pad, device)
    body.train()
    for number in range(encoder.reading_passes):
        started = time.perf_counter()
        total, n_guessed = torch.zeros((), device=device), torch.zeros((), device=device)
        groups = list(one.groups(encoder.batch_pieces, np.random.default_rng([seed, number])))
        for i, group in enumerate(groups):
            progress = (number + i / len(groups)) / encoder.reading_passes
            optimizer.param_groups[0]["lr"] = encoder.reading_rate * _rise_and_fall(
                progress, _READING_WARM_UP, 0.0
            )
            inputs, _ignored = one.batch(group)
            pieces, to_guess = _hide(inputs, vocabulary)
            is_piece = torch.arange(pieces.shape[1], device=device)[None, :] < inputs["lengths"][:, None]
            with torch.autocast(device.type, torch.bfloat16, enabled=encoder.bfloat16):
                vectors = body.embeddings.word_embeddings(pieces)
                read = body(inputs_embeds=vectors, attention_mask=is_piece.long()).last_hidden_state
                scores = guesses(read[to_guess])
            loss = nn.functional.cross_entropy(scores.float(), inputs["pieces"][to_guess], reduction="sum")
            n = to_guess.sum()
            optimizer.zero_grad(set_to_none=True)
            (loss / n.clamp(min=1)).backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            total += loss.detach()
            n_guessed += n
        if not torch.isfinite(total):
            raise StageError(
                _(
                    "the loss of reading pass {number} is not a number. Lower encoder.reading_rate",
                    number=number + 1,
                )
            )
        say(
            _(
                "reading pass {number} of {reading_passes}: loss {mean:.4f}, {counter:.1f} s",
                number=number + 1,
                reading_passes=encoder.reading_passes,
                mean=_mean(total, n_guessed),
                counter=time.perf_counter() - started,
            )
        )


def _hide(inputs: Mapping[str, torch.Tensor], vocabulary: Vocabulary) -> tuple[torch.Tensor, torch.Tensor]:
    """Hide some words of a batch; return its pieces, and which of them are to be guessed."""
    pieces, owners = inputs["pieces"], inputs["owners"]
    n_tokens = len(inputs["first"])
    chosen = torch.rand(n_tokens + 1, device=pieces.device) < _HIDDEN_IN_READING
    chosen[n_tokens] = False
    to_guess = chosen[owners]
    fate = torch.rand(pieces.shape, device=pieces.device)
    others = pieces.flatten()[torch.randint(pieces.numel(), pieces.shape, device=pieces.device)]
    shown = torch.where(fate < 0.8, vocabulary.hidden, torch.where(fate < 0.9, others, pieces))
    return torch.where(to_guess, shown, pieces), to_guess
