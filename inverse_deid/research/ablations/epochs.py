"""Epochs of training examples, made once and read by every variant that trains on them.

::

    epoch-NNN.npz      fine labels, all features, kind of each document, words as numbers

A variant maps the fine labels to its classes, chooses feature columns, weighs, and
leaves kinds of documents out. The files hold the words of the training documents:
they are as confidential as those.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, PhiType
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_columns, feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, TrainingConfig, class_names, class_of
from inverse_deid.research.studies.records import read_arrays, write_arrays
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe
from inverse_deid.training.examples import ExampleMaker, Weights

_AT_ONCE = 64


class DocumentKind(IntEnum):
    """Where a training document comes from; the order is part of the files."""

    GOLD = 0
    INVENTED = 1
    INJECTED = 2
    WEAK = 3


@dataclass(frozen=True, slots=True, eq=False)
class StoredDocument:
    """A training document before any choice of a variant.

    Args:
        kind: Where it comes from.
        is_weak: It may hold PHI that is not marked.
        example: With fine labels, all features, and weight 0 on doubtful tokens, 1 on the others.
    """

    kind: DocumentKind
    is_weak: bool
    example: Example = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochView:
    """How a variant reads the stored epochs.

    Args:
        network: Its classes and features.
        training: Its weights.
        leave_out: Kinds of documents that it does without.
    """

    network: NetworkConfig
    training: TrainingConfig
    leave_out: tuple[DocumentKind, ...] = ()


def make_documents(recipe: EpochRecipe, epoch: int) -> Iterator[StoredDocument]:
    """Make the documents of one epoch; those without a token are left out.

    Args:
        recipe: Its network and teachers are not used.
        epoch: Counted from 0.
    """
    everything = NetworkConfig(targets="fine", feature_set="all")
    encoder = ExampleMaker(everything, load_lexicon(recipe.lexicon), recipe.vectors)
    n_gold, n_synthetic = len(recipe.gold), recipe.training.synthetic
    docs = enumerate(EpochMaker(recipe).documents(epoch))
    while some := list(itertools.islice(docs, _AT_ONCE)):
        made = encoder.make_many([(doc, Weights(phi=1.0, weak=weights.weak)) for _, (doc, weights) in some])
        for (i, (_, weights)), example in zip(some, made, strict=True):
            kind = _kind(i, n_gold, n_synthetic, is_weak=weights.weak)
            if len(example):
                yield StoredDocument(kind, weights.weak, example)


def _kind(position: int, n_gold: int, n_synthetic: int, *, is_weak: bool) -> DocumentKind:
    if position < n_gold:
        return DocumentKind.GOLD
    if position < n_gold + n_synthetic:
        return DocumentKind.INJECTED if is_weak else DocumentKind.INVENTED
    return DocumentKind.WEAK


class EpochStore:
    """A folder of epochs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, epoch: int) -> Path:
        """Where an epoch stands."""
        return self._folder / f"epoch-{epoch:03}.npz"

    def write(self, epoch: int, docs: Iterable[StoredDocument]) -> int:
        """Write an epoch.

        Returns:
            Its number of tokens.

        Raises:
            OutputError: It cannot be written.
        """
        docs = list(docs)
        examples = [doc.example for doc in docs]
        numbers: dict[str, int] = {}
        words = [numbers.setdefault(word, len(numbers)) for example in examples for word in example.words]
        arrays = {
            "kinds": np.array([doc.kind for doc in docs], np.int8),
            "weak": np.array([doc.is_weak for doc in docs], np.bool_),
            "lengths": np.array([len(example) for example in examples], np.int64),
            "vocabulary": np.array("\n".join(numbers)),
            "words": np.array(words, np.int32),
            "rows": np.concatenate([example.word_rows for example in examples]),
            "gaps": np.concatenate([example.gaps for example in examples]).astype(np.int16),
            "features": np.concatenate([example.features for example in examples]).astype(np.float16),
            "labels": np.concatenate([example.labels for example in examples]).astype(np.int8),
            "counts": np.concatenate([example.weights for example in examples]) > 0,
        }
        write_arrays(self.path(epoch), arrays)
        return len(words)

    def read(self, epoch: int, view: EpochView) -> list[Example]:
        """The examples of an epoch as a variant sees them.

        Raises:
            UnreadableInputError: The file is missing or damaged.
        """
        try:
            return list(_examples(read_arrays(self.path(epoch)), view))
        except KeyError as error:
            raise UnreadableInputError(
                f"{self.path(epoch)}: of another structure; start anew with --force"
            ) from error


def _examples(arrays: dict[str, npt.NDArray[np.generic]], view: EpochView) -> Iterator[Example]:
    columns = feature_columns(feature_names(view.network.feature_set))
    vocabulary = str(arrays["vocabulary"]).split("\n")
    fine = arrays["labels"].astype(np.int64)
    labels = _class_of_fine(view.network)[fine]
    weights = np.where(arrays["counts"], _weight_of_fine(view.training)[fine], 0.0)
    features = arrays["features"][:, columns]
    rows, gaps = arrays["rows"].astype(np.int32), arrays["gaps"].astype(np.int32)
    ends = np.cumsum(arrays["lengths"].astype(np.int64)).tolist()
    for (start, end), kind, is_weak in zip(
        itertools.pairwise([0, *ends]), arrays["kinds"].tolist(), arrays["weak"].tolist(), strict=True
    ):
        if kind in view.leave_out:
            continue
        part = slice(start, end)
        factor = view.training.weak_weight if is_weak else 1.0
        yield Example(
            words=[vocabulary[i] for i in arrays["words"][part].tolist()],
            word_rows=rows[part],
            gaps=gaps[part],
            features=features[part],  # type: ignore[arg-type]
            labels=labels[part],
            weights=(weights[part] * factor).astype(np.float32),
        )


def _class_of_fine(network: NetworkConfig) -> npt.NDArray[np.int32]:
    """int32 (n_types + 1,): the class of each fine label, 0 = safe."""
    names = class_names(network.targets)
    classes = [names.index(class_of(PhiType(fine), network.targets)) for fine in class_names("fine")[1:]]
    return np.array([0, *classes], np.int32)


def _weight_of_fine(training: TrainingConfig) -> npt.NDArray[np.float64]:
    """float64 (n_types + 1,): what a token of each fine label weighs."""
    fine = [PhiType(name) for name in class_names("fine")[1:]]
    factors = [training.class_weights.get(HYPER_CLASS_OF[one], 1.0) for one in fine]
    return np.array([1.0, *(training.phi_weight * factor for factor in factors)])


class StoredEpochs:
    """The epochs as `fit` asks for them; the last one is kept in memory."""

    def __init__(self, store: EpochStore, view: EpochView) -> None:
        self._store, self._view = store, view
        self._last: tuple[int, Sequence[Example]] = (-1, ())

    def __call__(self, epoch: int) -> Sequence[Example]:
        """The examples of an epoch, counted from 0."""
        if self._last[0] != epoch:
            self._last = (-1, ())
            self._last = (epoch, self._store.read(epoch, self._view))
        return self._last[1]
