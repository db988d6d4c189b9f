"""Score tokens with ONNX Runtime: the probability of *safe* for every token of a batch of documents."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NotImplemented,  # noqa: A004
)

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ConfigurationError, ModelError, StageError
from inverse_deid.core.values import BoolArray, FloatArray, IntArray, Tokens
from inverse_deid.core.wording import _
from inverse_deid.network.config import class_names
from inverse_deid.network.encoding import character_codes, join_gap_codes, word_numbers
from inverse_deid.network.folder import ModelParts
from inverse_deid.text.interning import GrowingArray, InternedWords
from inverse_deid.text.tokenizer import JoinedTokens, join

WINDOW = 256
"""Tokens that the network reads at once; longer documents are read in windows."""
CONTEXT = 32
"""Tokens of context on either side of a window's own tokens."""
BATCH_TOKENS = 512
_CHARACTER_BATCH = 32

_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_GPU_PACKAGE = "onnxruntime-gpu"


@dataclass(frozen=True, slots=True, eq=False)
class ScorerInput:
    """The input of the scorer for one document.

    `ids`, int32 (n_tokens,), are its tokens' numbers in the shared `InternedWords`. `features`,
    float32 (n_tokens, n_features), are the columns that the model names.
    """

    tokens: Tokens = field(repr=False)
    ids: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class _TokenBatch:
    """The inputs of the network for the tokens of all documents, one row per token."""

    ids: IntArray = field(repr=False)
    gaps: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Window:
    """Tokens `start` to `end` of a batch are read; those from `first` to `last` are its own."""

    start: int
    end: int
    first: int
    last: int


class Scorer:
    """Runs the exported network, `n_threads` times at once (0 = one per core), on a device.

    A run of the network keeps one thread busy without the lock of Python. Other runs
    and the caller work at the same time. `interned` numbers the words and is shared with the rules.
    `device` is then the one that is used, "cpu" or "cuda".

    Raises:
        ModelError: The graphs cannot be loaded.
        ConfigurationError: The device cannot be used.
    """

    def __init__(
        self, parts: ModelParts, interned: InternedWords, n_threads: int = 0, device: Device = "cpu"
    ) -> None:
        self._config = parts.network
        self._interned = interned
        self._word_numbers = parts.word_vectors.numbers()
        self._fixed_vectors, self._unknown_vector = parts.word_vectors, _find_unknown_vector(parts)
        self.device, (self._characters, self._tokens) = open_sessions(
            [parts.characters, parts.tokens], device
        )
        self._reads = {value.name for value in self._tokens.get_inputs()}
        self._runs = ThreadPoolExecutor(n_threads or os.cpu_count() or 1, "network")
        self.class_names = class_names(parts.network.targets)
        self._transitions = _transitions(parts)
        self._generation = interned.generation
        self._vectors_of = GrowingArray(self._word_vectors([]))

    def score(self, docs: Sequence[ScorerInput]) -> list[FloatArray]:
        """Return class probabilities of every token of every document.

        Returns:
            float32 (n_tokens, n_classes) per document; rows sum to 1, column 0 is `p_safe`.

        Raises:
            StageError: The network returned another shape than was asked for.
        """
        return self.begin(docs)()

    def begin(
        self, docs: Sequence[ScorerInput], joined: JoinedTokens | None = None
    ) -> Callable[[], list[FloatArray]]:
        """Start to score. The returned function waits for the scores and raises as `score` does.

        `joined` are the tokens of the documents in one row, None = they are not joined yet.
        """
        self._learn_new_words()
        tokens = join([doc.tokens for doc in docs]) if joined is None else joined
        batch = _TokenBatch(
            ids=np.concatenate([np.zeros(0, np.int32), *(doc.ids for doc in docs)]),
            gaps=join_gap_codes(tokens),
            features=_join_features(docs),
        )
        groups = list(_groups(_windows(tokens.bounds.tolist())))
        # Each run gathers its own inputs: those of a long document together take several times its memory.
        vectors = self._vectors_of.rows  # not changed when other words are learned meanwhile
        runs = [self._runs.submit(self._run, batch, group, vectors) for group in groups]

        def scores() -> list[FloatArray]:
            found = np.full((len(tokens), len(self.class_names)), np.nan, np.float32)
            for group, run in zip(groups, runs, strict=True):
                for window, rows in zip(group, run.result(), strict=True):
                    own = rows[window.first - window.start : window.last - window.start]
                    found[window.first : window.last] = own
            return [found[of] for of in tokens.slices()]

        return scores

    def _inputs(
        self, batch: _TokenBatch, group: Sequence[_Window], vectors: FloatArray
    ) -> dict[str, np.ndarray]:
        starts = np.array([w.start for w in group], np.int64)
        lengths = np.array([w.end - w.start for w in group], np.int32)
        steps = np.minimum(np.arange(lengths.max()), lengths[:, None] - 1)
        rows = starts[:, None] + steps
        inputs = {
            "word_vectors": vectors[batch.ids[rows]],
            "gaps": batch.gaps[rows],
            "features": batch.features[rows],
            "lengths": lengths,
        }
        return {name: inputs[name] for name in self._reads}

    def _run(self, batch: _TokenBatch, group: Sequence[_Window], vectors: FloatArray) -> FloatArray:
        """Run the token graph on one group of windows: float32 (batch, time, n_classes)."""
        inputs = self._inputs(batch, group, vectors)
        lengths = inputs["lengths"]
        longest = int(lengths.max())
        found = self._tokens.run(None, inputs)[0]
        if found.shape != (len(lengths), longest, len(self.class_names)):
            raise StageError(
                _(
                    "the network returned shape {shape} for {n_lengths} windows. Train the model again",
                    shape=found.shape,
                    n_lengths=len(lengths),
                )
            )
        found = np.asarray(found, np.float32)
        if self._transitions is None:
            return found
        return marginals(found, np.arange(longest) < lengths[:, None], self._transitions)

    def _learn_new_words(self) -> None:
        """Compute the vectors of words that were numbered since the last call."""
        if self._generation != self._interned.generation:
            self._vectors_of.keep(self._interned.survivors(self._generation, len(self._vectors_of)))
            self._generation = self._interned.generation
        n_known = len(self._vectors_of)
        if n_known < len(self._interned):
            self._vectors_of.append(self._word_vectors(self._interned.words_from(n_known)))

    def _word_vectors(self, words: list[str]) -> FloatArray:
        """Return character and word vectors: float32 (n_words, 2 * char_units + word_dim)."""
        n_characters = 2 * self._config.char_units
        found = np.empty((len(words), n_characters + self._fixed_vectors.dim), np.float32)
        found[:, :n_characters] = self._character_vectors(words)
        numbers = word_numbers(words, self._word_numbers)
        found[:, n_characters:] = self._fixed_vectors.rows(numbers, self._unknown_vector)
        return found

    def _character_vectors(self, words: list[str]) -> FloatArray:
        """Read words in batches of a fixed size, so that a vector does not depend on other words."""
        vectors = np.empty((len(words), 2 * self._config.char_units), np.float32)
        # A batch takes as long as its longest word.
        order = sorted(range(len(words)), key=lambda i: len(words[i]))
        company = ["a"] * (-len(words) % _CHARACTER_BATCH)
        codes, lengths = character_codes([*(words[i] for i in order), *company], self._config.max_characters)
        for start in range(0, len(words), _CHARACTER_BATCH):
            batch = slice(start, start + _CHARACTER_BATCH)
            own = order[batch]
            found = self._characters.run(None, {"codes": codes[batch], "lengths": lengths[batch]})[0]
            vectors[own] = found[: len(own)]
        return vectors


def _join_features(docs: Sequence[ScorerInput]) -> FloatArray:
    """Return the features of all documents; those of a single one are not copied, since it may be long."""
    if len(docs) == 1:
        return docs[0].features
    return np.concatenate([doc.features for doc in docs]) if docs else np.zeros((0, 0), np.float32)


def _find_unknown_vector(parts: ModelParts) -> FloatArray:
    """Return the learned vector of words outside the vocabulary (row 0 of that layer)."""
    for path, weight in parts.weights.items():
        if path.startswith("unknown_word/"):
            return np.asarray(weight[0], np.float32)
    raise ModelError(_("the model has no vector for unknown words. Train it again"))


def _transitions(parts: ModelParts) -> FloatArray | None:
    """Return the transition scores of the CRF, None without one."""
    if parts.network.output == "softmax":
        return None
    for path, weight in parts.weights.items():
        if path.endswith("crf/transitions"):
            return np.asarray(weight, np.float32)
    raise ModelError(_("the model has no transition scores. Train it again"))


class Runtime(Protocol):
    """What is used of the module `onnxruntime` to open graphs."""

    def get_available_providers(self) -> list[str]:
        """Return the devices that the installed package was built for."""
        ...

    def InferenceSession(  # noqa: N802 - its name there
        self,
        graph: bytes,
        options: ort.SessionOptions,
        *,
        providers: list[str],
        disabled_optimizers: list[str],
    ) -> ort.InferenceSession:
        """Open a graph; a device that cannot be used is left out."""
        ...


def open_sessions(
    graphs: Sequence[bytes],
    device: Device,
    runtime: Runtime = ort,
    *,
    without: Sequence[str] = (),
) -> tuple[Device, list[ort.InferenceSession]]:
    """Open graphs on a device, each to keep one thread busy.

    Args:
        graphs: ONNX graphs.
        device: "auto" takes the graphics processor if there is one.
        runtime: What opens them.
        without: Optimizers of the runtime that are not used, by name.

    Returns:
        The device that is used, "cpu" or "cuda", and a session per graph.

    Raises:
        ModelError: The graphs cannot be loaded.
        ConfigurationError: "cuda" was asked for and cannot be used.
    """
    ort.disable_telemetry_events()  # another package may have imported it before this one
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    is_built_for_cuda = device != "cpu" and _CUDA in runtime.get_available_providers()
    if device == "cuda" and not is_built_for_cuda:
        raise ConfigurationError(_explain_missing_package())
    used: Device = "cuda" if is_built_for_cuda else "cpu"
    sessions = []
    for graph in graphs:
        providers = [_CUDA, _CPU] if used == "cuda" else [_CPU]
        try:
            session = runtime.InferenceSession(
                graph, options, providers=providers, disabled_optimizers=list(without)
            )
        except (Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, NotImplemented) as error:
            raise ModelError(_("the network cannot be loaded ({name})", name=type(error).__name__)) from error
        if used == "cuda" and _CUDA not in session.get_providers():
            if device == "cuda":
                raise ConfigurationError(
                    _(
                        "device cuda: onnxruntime-gpu cannot use CUDA. Check that nvidia-smi shows a GPU "
                        "and install CUDA and cuDNN of the versions that onnxruntime-gpu needs, or use "
                        "device cpu"
                    )
                )
            return open_sessions(graphs, "cpu", runtime, without=without)
        sessions.append(session)
    return used, sessions


def _explain_missing_package() -> str:
    """Return the message for an onnxruntime that was not built for CUDA."""
    try:
        importlib.metadata.version(_GPU_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return (
            "device cuda: the installed onnxruntime runs on the CPU only. Replace it: run pip uninstall "
            f"onnxruntime, then pip install {_GPU_PACKAGE}, or use device cpu"
        )
    # Both packages have the same folder, so the one that was installed last overwrote the other.
    return (
        f"device cuda: onnxruntime and {_GPU_PACKAGE} overwrite each other, and the CPU one is in place. "
        f"Run pip uninstall onnxruntime {_GPU_PACKAGE}, then pip install {_GPU_PACKAGE}, or use device cpu"
    )


def _windows(bounds: Sequence[int]) -> Iterator[_Window]:
    """Cut every document into overlapping windows; no token is left out.

    `bounds` are the first token of each document, and the number of tokens.
    """
    step = WINDOW - 2 * CONTEXT
    for begin, stop in pairwise(bounds):
        if stop - begin <= WINDOW:
            if stop > begin:
                yield _Window(begin, stop, begin, stop)
            continue
        for first in range(begin, stop, step):
            last = min(first + step, stop)
            yield _Window(max(begin, first - CONTEXT), min(stop, last + CONTEXT), first, last)


def _groups(windows: Iterator[_Window]) -> Iterator[list[_Window]]:
    """Group windows of similar length, at most `BATCH_TOKENS` padded tokens per group."""
    group: list[_Window] = []
    for window in sorted(windows, key=lambda w: (w.start - w.end, w.start)):
        longest = group[0].end - group[0].start if group else 0
        if group and longest * (len(group) + 1) > BATCH_TOKENS:
            yield group
            group = []
        group.append(window)
    if group:
        yield group


def marginals(scores: FloatArray, valid: BoolArray, transitions: FloatArray) -> FloatArray:
    """Return the marginal probability of each class at each token of a linear chain.

    Args:
        scores: float32 (batch, time, n_classes).
        valid: bool (batch, time), False on the padding at the end.
        transitions: float32 (n_classes, n_classes), from row to column.

    Returns:
        float32 (batch, time, n_classes); rows of real tokens sum to 1.

    Source: Rabiner 1989, section III; Lafferty, McCallum and Pereira 2001.
    """
    n_times = scores.shape[1]
    forward = np.empty_like(scores, np.float64)
    backward = np.zeros_like(forward)
    forward[:, 0] = scores[:, 0]
    for t in range(1, n_times):
        reached = _log_sum(forward[:, t - 1, :, None] + transitions, 1) + scores[:, t]
        forward[:, t] = np.where(valid[:, t, None], reached, forward[:, t - 1])
    for t in range(n_times - 2, -1, -1):
        ahead = (scores[:, t + 1] + backward[:, t + 1])[:, None, :] + transitions
        backward[:, t] = np.where(valid[:, t + 1, None], _log_sum(ahead, 2), backward[:, t + 1])
    total = forward + backward
    total -= total.max(axis=2, keepdims=True)
    probabilities = np.exp(total)
    found: FloatArray = (probabilities / probabilities.sum(axis=2, keepdims=True)).astype(np.float32)
    return found


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    top = values.max(axis=axis)
    summed: np.ndarray = top + np.log(np.exp(values - np.expand_dims(top, axis)).sum(axis=axis))
    return summed
