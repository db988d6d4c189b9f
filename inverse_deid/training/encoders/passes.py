"""What an encoder reads in each pass: windows of many documents in a few arrays, made in other processes.

A pass is written to a file, so that several trainings can read the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.values import BoolArray, Document, IntArray
from inverse_deid.core.wording import _
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example, windows, with_dropouts
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.encoding import gap_codes
from inverse_deid.network.pieces import SHAPES, Vocabulary, Window, encode_window
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.augmentation import EpochRecipe, examples_of_worker, start_worker

_ABOUT = "about.json"
_NOBODY = -1
_ON_HOW_TO_LEARN = {"epochs", "learning_rate", "warm_up", "final_rate", "clip_norm", "repeats"}
"""Settings of a training that do not change what is read."""
_TEXTS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """The windows of a pass, one after the other.

    Args:
        pieces: int32 (n_pieces,), numbers of the vocabulary.
        owners: int32 (n_pieces,), the token of each piece, -1 = none.
        first: int32 (n_tokens,), the first piece of each token.
        shapes: uint8 (n_tokens,).
        features: float16 (n_tokens, n_features).
        labels: uint8 (n_tokens,), 0 = safe.
        weights: float16 (n_tokens,), weight of each token in the loss.
        opinion: float16 (n_tokens, n_classes), as in `Example`; (n_tokens, 0) = no teachers.
        piece_bounds: int32 (n_windows + 1,), where the pieces of each window begin.
        token_bounds: int32 (n_windows + 1,), where the tokens of each window begin.
    """

    pieces: IntArray = field(repr=False)
    owners: IntArray = field(repr=False)
    first: IntArray = field(repr=False)
    shapes: npt.NDArray[np.uint8] = field(repr=False)
    features: npt.NDArray[np.float16] = field(repr=False)
    labels: npt.NDArray[np.uint8] = field(repr=False)
    weights: npt.NDArray[np.float16] = field(repr=False)
    opinion: npt.NDArray[np.float16] = field(repr=False)
    piece_bounds: IntArray = field(repr=False)
    token_bounds: IntArray = field(repr=False)

    @property
    def n_windows(self) -> int:
        """The number of windows."""
        return len(self.piece_bounds) - 1

    def write(self, path: Path) -> None:
        """Write the arrays; the file is there only when it is complete."""
        partial_path = path.with_suffix(f".{os.getpid()}.partial")
        with partial_path.open("wb") as file:
            np.savez(file, **{f.name: getattr(self, f.name) for f in fields(self)})
        partial_path.replace(path)

    @staticmethod
    def read(path: Path) -> Pass:
        """Read what `write` wrote."""
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as arrays:
            return Pass(**{f.name: arrays[f.name] for f in fields(Pass)})


@dataclass(frozen=True, slots=True)
class Hiding:
    """What a pass may hide: the share of words behind a mask piece, doubled on PHI; columns of features."""

    words: float
    columns: tuple[int, ...] = ()


def gather(
    encoded: Sequence[Window],
    labels: Iterable[npt.ArrayLike] = (),
    weights: Iterable[npt.ArrayLike] = (),
    opinions: Iterable[npt.NDArray[np.float16]] = (),
) -> Pass:
    """Put windows one after the other. Without labels all tokens are safe, and weigh 1."""
    n_pieces = np.array([0, *(len(window.pieces) for window in encoded)])
    n_tokens = np.array([0, *(len(window.first) for window in encoded)])
    piece_bounds, token_bounds = n_pieces.cumsum(), n_tokens.cumsum()
    owners = [
        np.where(window.owners < len(window.first), window.owners + start, _NOBODY)
        for window, start in zip(encoded, token_bounds, strict=False)
    ]
    first = [window.first + start for window, start in zip(encoded, piece_bounds, strict=False)]
    total = int(token_bounds[-1])
    marks, loads, said = list(labels), list(weights), list(opinions)
    return Pass(
        pieces=np.concatenate([window.pieces for window in encoded]).astype(np.int32),
        owners=np.concatenate(owners).astype(np.int32),
        first=np.concatenate(first).astype(np.int32),
        shapes=np.concatenate([window.shapes for window in encoded]).astype(np.uint8),
        features=np.concatenate([window.features for window in encoded]).astype(np.float16),
        labels=np.concatenate(marks).astype(np.uint8) if marks else np.zeros(total, np.uint8),
        weights=np.concatenate(loads).astype(np.float16) if loads else np.ones(total, np.float16),
        opinion=np.concatenate(said) if said else np.zeros((total, 0), np.float16),
        piece_bounds=piece_bounds.astype(np.int32),
        token_bounds=token_bounds.astype(np.int32),
    )


def training_pass(
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    config: TrainingConfig,
    hiding: Hiding,
    rng: np.random.Generator,
) -> Pass:
    """Cut examples into windows, and hide some words and dictionary features."""
    cut = [with_dropouts(e, config, hiding.columns, rng) for e in windows(examples, config.window, rng)]
    encoded = []
    for example in cut:
        is_hidden: BoolArray = rng.random(len(example)) < hiding.words * np.where(example.labels > 0, 2, 1)
        encoded.append(encode_window(example.words, example.gaps, example.features, vocabulary, is_hidden))
    opinions = [e.opinion for e in cut if e.opinion is not None]
    return gather(encoded, [e.labels for e in cut], [e.weights for e in cut], opinions)


def cut_again(one: Pass, shortest: int, longest: int, rng: np.random.Generator) -> Pass:
    """Cut the windows of a pass into shorter ones, of `shortest` to `longest` tokens each.

    The last of a window may be shorter. Every one begins and ends with the pieces that windows have there.
    """
    cuts = [
        _draw_cuts(start, end, shortest, longest, rng)
        for start, end in zip(one.token_bounds[:-1], one.token_bounds[1:], strict=True)
    ]
    bounds = np.concatenate([np.zeros(1, np.int64), *cuts])
    starts, ends = bounds[:-1], bounds[1:]
    of_window = np.searchsorted(one.token_bounds, ends, "left") - 1
    last_pieces = one.piece_bounds[of_window + 1] - 1
    is_last = ends == one.token_bounds[of_window + 1]
    piece_starts = one.first[starts]
    piece_ends = np.where(is_last, last_pieces, one.first[np.minimum(ends, len(one.first) - 1)])
    n_pieces = piece_ends - piece_starts + 2
    piece_bounds = np.concatenate([[0], np.cumsum(n_pieces)])
    shift = np.repeat(piece_starts - 1 - piece_bounds[:-1], n_pieces)
    source = np.arange(piece_bounds[-1]) + shift
    heads, tails = piece_bounds[:-1], piece_bounds[1:] - 1
    pieces, owners = one.pieces[source], one.owners[source]
    pieces[heads], pieces[tails] = one.pieces[0], one.pieces[-1]
    owners[heads] = owners[tails] = _NOBODY
    shapes = one.shapes.copy()
    shapes[starts] = shapes[starts] % len(SHAPES) + len(SHAPES)
    return replace(
        one,
        pieces=pieces,
        owners=owners,
        first=(one.first - np.repeat(piece_starts - 1 - heads, ends - starts)).astype(np.int32),
        shapes=shapes,
        piece_bounds=piece_bounds.astype(np.int32),
        token_bounds=bounds.astype(np.int32),
    )


def _draw_cuts(
    start: int, end: int, shortest: int, longest: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the ends of the new windows of one window."""
    sizes = rng.integers(shortest, longest + 1, -(-(end - start) // shortest))
    ends = start + np.cumsum(sizes)
    return np.append(ends[ends < end], end)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMaker:
    """Makes the pass of any number in a worker process, and writes it to a file.

    `pieces` are those of the encoder's vocabulary; `hidden_words` is the share of words to hide. `data` has
    the hashes of the corpora, `teachers` are the fingerprints of those of the recipe.
    """

    recipe: EpochRecipe = field(repr=False)
    pieces: tuple[str, ...] = field(repr=False)
    hidden_words: float
    folder: Path
    data: Mapping[str, str] = field(default_factory=dict)
    teachers: tuple[str, ...] = ()

    def begin(self) -> Vocabulary:
        """Create the folder if needed, and return the vocabulary of its passes.

        Raises:
            ConfigurationError: The folder has passes of another configuration.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        about = self.folder / _ABOUT
        if not about.exists():
            own = self.folder / f"{_ABOUT}.{os.getpid()}.partial"
            own.write_text(json.dumps({"key": self.key, "pieces": self.pieces}), encoding="utf-8")
            with contextlib.suppress(FileExistsError):  # another training was first
                os.link(own, about)
            own.unlink()
        values = json.loads(about.read_text(encoding="utf-8"))
        if values["key"] != self.key:
            raise ConfigurationError(
                _(
                    "{folder}: passes of another configuration or other data. Delete the folder, or name "
                    "another one",
                    folder=self.folder,
                )
            )
        return Vocabulary(values["pieces"])

    @property
    def key(self) -> str:
        """A hash of what decides the passes."""
        training = as_plain_values(self.recipe.training)
        deciding = {name: value for name, value in training.items() if name not in _ON_HOW_TO_LEARN}
        network, names = as_plain_values(self.recipe.network), feature_names(self.recipe.network.feature_set)
        data = sorted(self.data.items())
        what = repr((deciding, network, names, self.hidden_words, data, self.teachers, load_lexicon().sha256))
        return hashlib.sha256(what.encode()).hexdigest()

    def path(self, number: int) -> Path:
        """Return the file of a pass."""
        return self.folder / f"pass-{number:04}.npz"

    def make(self, number: int, vocabulary: Vocabulary) -> Path:
        """Make a pass."""
        rng = np.random.default_rng([self.recipe.training.seed, number])
        names = enumerate(feature_names(self.recipe.network.feature_set))
        columns = tuple(i for i, name in names if name in DICTIONARY_FEATURE_NAMES)
        made = training_pass(
            examples_of_worker(number),
            vocabulary,
            self.recipe.training,
            Hiding(self.hidden_words, columns),
            rng,
        )
        made.write(self.path(number))
        return self.path(number)


_present: tuple[PassMaker, Vocabulary] | None = None


def _start(maker: PassMaker) -> None:
    global _present  # noqa: PLW0603 - a worker process holds one maker
    _present = (maker, maker.begin())
    start_worker(maker.recipe)


def _make(number: int) -> Path:
    if _present is None:
        raise RuntimeError("the worker was not started")
    maker, vocabulary = _present
    return maker.make(number, vocabulary)


class PassesAhead:
    """Makes the next passes in `n_workers` other processes. Use as a context manager; call with a number.

    A pass that has a file is read from it, even if another encoder's training made it. Its pieces are then
    renumbered.

    Raises:
        ConfigurationError: The folder has passes of another configuration.
        ModelError: It has passes for an encoder with other pieces.
    """

    def __init__(self, maker: PassMaker, n_passes: int, n_workers: int = 1) -> None:
        self._maker = maker
        self._n_passes = n_passes
        self._n_ahead = n_workers + 1
        self._pool = ProcessPoolExecutor(
            n_workers, mp_context=get_context("spawn"), initializer=_start, initargs=(maker,)
        )
        self._begun: dict[int, Future[Path]] = {}
        self._numbers: IntArray = np.zeros(0, np.int32)

    def __enter__(self) -> PassesAhead:
        self._numbers = self._maker.begin().numbers_in(Vocabulary(self._maker.pieces))
        return self

    def __exit__(self, *exc: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, number: int) -> None:
        """Begin to make a pass and the next ones."""
        for ahead in range(number, min(number + self._n_ahead, self._n_passes)):
            if ahead not in self._begun and not self._maker.path(ahead).exists():
                self._begun[ahead] = self._pool.submit(_make, ahead)

    def __call__(self, number: int) -> Pass:
        """Return a pass."""
        self.begin(number)
        if number in self._begun:
            self._begun.pop(number).result()
        one = self._read(number)
        return replace(one, pieces=self._numbers[one.pieces])

    def _read(self, number: int) -> Pass:
        """Read a pass; make it again if its file is damaged."""
        path = self._maker.path(number)
        try:
            return Pass.read(path)
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
            return Pass.read(self._pool.submit(_make, number).result())


def text_pass(docs: Sequence[Document], pieces: Sequence[str], size: int, n_workers: int = 1) -> Pass:
    """Encode the texts of documents in windows of `size` tokens, without features, in other processes."""
    parts = [docs[i : i + _TEXTS_AT_ONCE] for i in range(0, len(docs), _TEXTS_AT_ONCE)]
    with ProcessPoolExecutor(n_workers, mp_context=get_context("spawn")) as pool:
        found = pool.map(partial(_encode_texts, tuple(pieces), size), parts)
        return gather([window for windows_of_part in found for window in windows_of_part])


def _encode_texts(pieces: tuple[str, ...], size: int, docs: Sequence[Document]) -> list[Window]:
    vocabulary = Vocabulary(pieces)
    found = []
    for doc in docs:
        tokens = tokenize(doc.text)
        gaps = gap_codes(tokens)
        for start in range(0, len(tokens), size):
            part = slice(start, start + size)
            words = tokens.words[part]
            found.append(encode_window(words, gaps[part], np.zeros((len(words), 0), np.float32), vocabulary))
    return found
