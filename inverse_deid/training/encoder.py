"""Fine-tune a pre-trained encoder on the documents of a training run, and export it.

The encoder reads word pieces. To their vectors are added a learned vector of the token's shape and a linear
map of its rule features. The first piece of a token speaks for it. The word vectors stay as they are.

Source: Devlin et al. 2019; Wang et al. 2020 (MiniLM), whose weights the packaged second reader starts from.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import torch
from msgspec import Struct
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn
from transformers import BertConfig, BertModel

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import BoolArray, FloatArray
from inverse_deid.network.batches import Example, windows, with_dropouts
from inverse_deid.network.config import Positive, Share, Size, TrainingConfig
from inverse_deid.network.encoding import N_GAP_CHARACTERS
from inverse_deid.network.pieces import N_SHAPES, Vocabulary, Window, encode_window, join_windows

INPUT_NAMES = ("pieces", "lengths", "owners", "first", "shapes", "features")
"""Inputs of the graph in order, as `join_windows` returns them."""
FEATURE_UNITS = 48
OPSET = 18
_BATCHES_SORTED = 32
"""Windows of about this number of batches are sorted by length together."""
_SECONDS_BETWEEN_LINES = 60


class EncoderConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [encoder] of a training configuration.

    Args:
        weights: Folder with `config.json`, `vocab.txt` and `model.safetensors` of a BERT encoder.
        batch_pieces: Approximate number of word pieces per batch.
        learning_rate: Peak of the learning rate of the encoder.
        head_rate: Peak of that of the layers which are not pre-trained.
        hidden_words: Share of words hidden behind a mask piece, doubled on PHI.
        bfloat16: Multiply in half precision, which is faster on processors that can.
    """

    weights: Path
    batch_pieces: Size = 2560
    learning_rate: Positive = 2e-4
    head_rate: Positive = 1e-3
    hidden_words: Share = 0.04
    bfloat16: bool = True


class EncoderNetwork(nn.Module):  # type: ignore[misc]
    """The encoder with shapes, features and classes; inputs as `join_windows` returns them."""

    def __init__(self, bert: BertModel, n_features: int, n_classes: int) -> None:
        super().__init__()
        size = bert.config.hidden_size
        self.bert = bert
        self.bert.embeddings.word_embeddings.requires_grad_(False)
        self.shape_vectors = nn.Embedding(N_SHAPES, size)
        self.feature_map = nn.Linear(n_features, size)
        self.feature_dense = nn.Linear(n_features, FEATURE_UNITS)
        self.classes = nn.Linear(size + FEATURE_UNITS, n_classes)
        nn.init.normal_(self.shape_vectors.weight, std=0.02)
        nn.init.normal_(self.feature_map.weight, std=0.005)
        nn.init.zeros_(self.feature_map.bias)

    def forward(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the scores of the classes: float32 (n_tokens, n_classes), before the softmax."""
        features = inputs["features"]
        of_token = self.shape_vectors(inputs["shapes"]) + self.feature_map(features)
        of_token = torch.cat([of_token, of_token.new_zeros(1, of_token.shape[1])])
        pieces = self.bert.embeddings.word_embeddings(inputs["pieces"])
        length = inputs["pieces"].shape[1]
        valid = torch.arange(length, device=pieces.device)[None, :] < inputs["lengths"][:, None]
        pieces = pieces + of_token[inputs["owners"].long()]
        read = self.bert(inputs_embeds=pieces, attention_mask=valid.long())
        spoken = read.last_hidden_state.reshape(-1, pieces.shape[-1])[inputs["first"].long()]
        hints = torch.relu(self.feature_dense(features))
        scores: torch.Tensor = self.classes(torch.cat([spoken, hints], dim=1))
        return scores


def read_pretrained(folder: Path) -> tuple[BertModel, tuple[str, ...]]:
    """Read a pre-trained encoder, without its pooling layer, and the pieces of its vocabulary.

    Raises:
        ConfigurationError: The folder lacks a file, or is not a BERT encoder.
    """
    try:
        config = BertConfig.from_pretrained(folder)
        config.attention_probs_dropout_prob = 0.0
        bert = BertModel.from_pretrained(
            folder, config=config, add_pooling_layer=False, attn_implementation="eager"
        )
        pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{folder}: not a BERT encoder. Give a folder with config.json, vocab.txt and model.safetensors"
        ) from error
    return bert, tuple(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    inputs: Mapping[str, torch.Tensor] = field(repr=False)
    targets: torch.Tensor = field(repr=False)  # float32 (n_tokens, n_classes)
    weights: torch.Tensor = field(repr=False)  # float32 (n_tokens,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncoderTraining:
    """One training of an encoder, in place.

    Args:
        network: What learns.
        vocabulary: Of the encoder.
        epochs: Returns the examples of an epoch, counted from 0.
        config: Passes, windows, dropouts, seed; the learning rates are those of `encoder`.
        encoder: Settings of encoders alone.
        dictionary_columns: Feature columns that `dictionary_dropout` hides.
        checkpoint: File for the state after each pass; an interrupted run resumes from it.
        say: Receives lines of progress, numbers only.
    """

    network: EncoderNetwork
    vocabulary: Vocabulary = field(repr=False)
    epochs: Callable[[int], Sequence[Example]]
    config: TrainingConfig
    encoder: EncoderConfig
    dictionary_columns: Sequence[int]
    checkpoint: Path
    say: Callable[[str], None]

    def run(self) -> None:
        """Train all passes that are not done.

        Raises:
            StageError: The loss is not a number.
        """
        torch.manual_seed(self.config.seed)
        body = [weight for weight in self.network.bert.parameters() if weight.requires_grad]
        heads = [w for name, w in self.network.named_parameters() if not name.startswith("bert.")]
        optimizer = torch.optim.AdamW([{"params": body}, {"params": heads}], weight_decay=0.01)
        n_done = self._restore(optimizer)
        self.network.train()
        for epoch in range(n_done, self.config.epochs):
            self._epoch(epoch, optimizer)
            state = {"network": self.network.state_dict(), "optimizer": optimizer.state_dict()}
            partial = self.checkpoint.with_suffix(".partial")
            torch.save({**state, "epoch": epoch + 1}, partial)
            partial.replace(self.checkpoint)

    def _restore(self, optimizer: torch.optim.Optimizer) -> int:
        if not self.checkpoint.exists():
            return 0
        state = torch.load(self.checkpoint, weights_only=True)
        self.network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        self.say(f"resuming after pass {state['epoch']} of {self.config.epochs}")
        return int(state["epoch"])

    def _epoch(self, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        examples = self.epochs(epoch)
        n_tokens = max(1, sum(map(len, examples)))
        started = told = time.perf_counter()
        total, weight, n_seen = 0.0, 0.0, 0
        for batch in self._batches(examples, np.random.default_rng([self.config.seed, epoch])):
            rate = self._rate((epoch + min(1.0, n_seen / n_tokens)) / self.config.epochs)
            optimizer.param_groups[0]["lr"] = self.encoder.learning_rate * rate
            optimizer.param_groups[1]["lr"] = self.encoder.head_rate * rate
            total += self._step(batch, optimizer)
            weight += float(batch.weights.sum())
            n_seen += len(batch.weights)
            if time.perf_counter() - told > _SECONDS_BETWEEN_LINES:
                told = time.perf_counter()
                self.say(f"pass {epoch + 1}: {n_seen} of {n_tokens} tokens, loss {total / weight:.4f}")
        if not np.isfinite(total):
            raise StageError(f"the loss of pass {epoch + 1} is not a number. Lower encoder.learning_rate")
        seconds = time.perf_counter() - started
        self.say(
            f"pass {epoch + 1} of {self.config.epochs}: loss {total / max(weight, 1):.4f}, {seconds:.0f} s"
        )

    def _step(self, batch: _Batch, optimizer: torch.optim.Optimizer) -> float:
        """Learn from one batch, and return the sum of its weighted losses."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.encoder.bfloat16):
            scores = self.network(batch.inputs)
        losses = nn.functional.cross_entropy(scores.float(), batch.targets, reduction="none")
        loss = (losses * batch.weights).sum()
        optimizer.zero_grad(set_to_none=True)
        (loss / batch.weights.sum().clamp(min=1)).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    def _rate(self, progress: float) -> float:
        """Return the learning rate as a share of its peak: a linear rise, then a linear fall."""
        config = self.config
        if progress < config.warm_up:
            return (progress + 1e-4) / config.warm_up
        fallen = (progress - config.warm_up) / max(1e-9, 1 - config.warm_up)
        return 1 - (1 - config.final_rate) * fallen

    def _batches(self, examples: Sequence[Example], rng: np.random.Generator) -> Iterator[_Batch]:
        """Cut examples into windows, hide some words and features, and gather windows of similar length."""
        config = self.config
        cut = windows(examples, config.window, rng)
        order = rng.permutation(len(cut))
        n_sorted = max(1, self.encoder.batch_pieces * _BATCHES_SORTED // (2 * config.window))
        for start in range(0, len(cut), n_sorted):
            some = [cut[i] for i in order[start : start + n_sorted]]
            noisy = [with_dropouts(example, config, self.dictionary_columns, rng) for example in some]
            pairs = [(self._encode(example, rng), example) for example in noisy]
            pairs.sort(key=lambda pair: len(pair[0].pieces))
            groups: list[list[tuple[Window, Example]]] = [[]]
            for pair in pairs:
                if groups[-1] and len(pair[0].pieces) * (len(groups[-1]) + 1) > self.encoder.batch_pieces:
                    groups.append([])
                groups[-1].append(pair)
            for g in rng.permutation(len(groups)):
                yield self._batch(groups[g])

    def _encode(self, example: Example, rng: np.random.Generator) -> Window:
        share = self.encoder.hidden_words * np.where(example.labels > 0, 2, 1)
        hidden: BoolArray = rng.random(len(example)) < share
        return encode_window(example.words, example.gaps, example.features, self.vocabulary, hidden)

    def _batch(self, group: Sequence[tuple[Window, Example]]) -> _Batch:
        inputs = join_windows([window for window, _ in group], self.vocabulary.pad)
        n_classes = self.network.classes.out_features
        targets = np.concatenate([_targets(example, n_classes) for _, example in group])
        weights = np.concatenate([example.weights for _, example in group])
        return _Batch(as_tensors(inputs), torch.from_numpy(targets), torch.from_numpy(weights))


def as_tensors(inputs: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Return the inputs of a graph as those of `EncoderNetwork`."""
    return {name: torch.from_numpy(value) for name, value in inputs.items()}


def _targets(example: Example, n_classes: int) -> FloatArray:
    """Return the label and the teachers' opinion by their shares: float32 (n_tokens, n_classes)."""
    targets: FloatArray = np.eye(n_classes, dtype=np.float32)[example.labels]
    if example.opinion is None:
        return targets
    opinion = example.opinion.astype(np.float32)
    targets = targets * (1 - opinion.sum(axis=1, keepdims=True)) + opinion
    return targets


class _Exported(nn.Module):  # type: ignore[misc]
    """The network with its inputs by position, as the exporter wants them, and probabilities as output."""

    def __init__(self, network: EncoderNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        scores = self.network(dict(zip(INPUT_NAMES, inputs, strict=True)))
        return torch.softmax(scores, dim=-1)


def export_encoder(network: EncoderNetwork, vocabulary: Vocabulary) -> bytes:
    """Return the ONNX graph of an encoder in single precision.

    Inputs are those of `join_windows`; the output is `probabilities` float32 (n_tokens, n_classes).
    """
    n_features = network.feature_map.in_features
    example = [
        encode_window(
            ["rash"] * n_tokens,
            np.zeros((n_tokens, N_GAP_CHARACTERS), np.int32),
            np.zeros((n_tokens, n_features), np.float32),
            vocabulary,
        )
        for n_tokens in (3, 5)
    ]
    inputs = as_tensors(join_windows(example, vocabulary.pad))
    batch, length, tokens = (torch.export.Dim(name, min=2, max=2**16) for name in ("b", "p", "t"))
    by_piece, by_token = {0: batch, 1: length}, {0: tokens}
    program = torch.onnx.export(
        _Exported(network.eval()),
        tuple(inputs[name] for name in INPUT_NAMES),
        input_names=INPUT_NAMES,
        output_names=["probabilities"],
        dynamic_shapes=((by_piece, {0: batch}, by_piece, by_token, by_token, by_token),),
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    return without_traces(program.model_proto)


def without_traces(model: onnx.ModelProto) -> bytes:
    """Return a graph without what the exporter notes on it: source lines, and paths of the machine."""
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.initializer):
        del part.metadata_props[:]
    for part in (*model.graph.input, *model.graph.output):
        del part.metadata_props[:]
    for part in (model.graph, *model.graph.node, *model.graph.initializer):
        part.doc_string = ""
    del model.functions[:]
    return bytes(model.SerializeToString())


def round_weights(graph: bytes) -> bytes:
    """Return the graph with 8-bit weights of matrices and word vectors: a quarter of the size, and faster.

    One bit is left unused, since processors without VNNI add products of 8 bits in 16.
    """
    with tempfile.TemporaryDirectory() as folder:
        exact, rounded = Path(folder) / "exact.onnx", Path(folder) / "rounded.onnx"
        exact.write_bytes(graph)
        quantize_dynamic(
            exact,
            rounded,
            op_types_to_quantize=["MatMul", "Gather"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return rounded.read_bytes()
