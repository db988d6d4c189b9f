"""Epochs of training examples, made once and read by every variant that trains on them.

::

    epoch-NNN.npz      fine labels, all features, kind of each document, words as numbers

A variant maps the fine labels to its classes, chooses feature columns, weighs, and
leaves kinds of documents out. The files contain the words of the training documents
and are as confidential as these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, PhiType
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_columns, feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names, class_of
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid_research.ablations.variants import DocumentKind, Variant
from inverse_deid_research.studies.records import START_OVER, Arrays, read_arrays, write_arrays

_AT_ONCE = 64


def epoch_path(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:03}.npz"


def write_epoch(folder: Path, recipe: EpochRecipe, epoch: int) -> int:
    """Make and write an epoch, counted from 0, before any choice of a variant; return its number of tokens.

    Documents without a token are left out. Network and teachers of the recipe are not used.

    Raises:
        OutputError: It cannot be written.
    """
    made = list(_make_examples(recipe, epoch))
    examples = [example for *_, example in made]
    numbers: dict[str, int] = {}
    words = [numbers.setdefault(word, len(numbers)) for example in examples for word in example.words]
    arrays = {
        "kinds": np.array([kind for kind, *_ in made], np.int8),
        "weak": np.array([is_weak for _, is_weak, _ in made], np.bool_),
        "lengths": np.array([len(example) for example in examples], np.int64),
        "vocabulary": np.array("\n".join(numbers)),
        "words": np.array(words, np.int32),
        "rows": np.concatenate([example.word_rows for example in examples]),
        "gaps": np.concatenate([example.gaps for example in examples]).astype(np.int16),
        "features": np.concatenate([example.features for example in examples]).astype(np.float16),
        "labels": np.concatenate([example.labels for example in examples]).astype(np.int8),
        "counts": np.concatenate([example.weights for example in examples]) > 0,
    }
    write_arrays(epoch_path(folder, epoch), arrays)
    return len(words)


def _make_examples(recipe: EpochRecipe, epoch: int) -> Iterator[tuple[DocumentKind, bool, Example]]:
    # The examples have fine labels, all features, and weight 0 on doubtful tokens, 1 on the others.
    everything = NetworkConfig(targets="fine", feature_set="all")
    encoder = ExampleMaker(everything, load_lexicon(recipe.lexicon), recipe.vectors)
    n_gold, n_synthetic = len(recipe.gold), recipe.training.synthetic
    docs = enumerate(EpochMaker(recipe).documents(epoch))
    while some := list(itertools.islice(docs, _AT_ONCE)):
        made = encoder.make_many([(doc, Weights(phi=1.0, weak=weights.weak)) for _, (doc, weights) in some])
        for (i, (_, weights)), example in zip(some, made, strict=True):
            kind = DocumentKind.WEAK
            if i < n_gold:
                kind = DocumentKind.GOLD
            elif i < n_gold + n_synthetic:
                kind = DocumentKind.INJECTED if weights.weak else DocumentKind.INVENTED
            if len(example):
                yield kind, weights.weak, example


def read_epoch(folder: Path, variant: Variant, epoch: int) -> list[Example]:
    """Read the examples of an epoch as a variant sees them.

    Raises:
        UnreadableInputError: The file is missing or damaged.
    """
    path = epoch_path(folder, epoch)
    try:
        return list(_view_examples(read_arrays(path), variant))
    except KeyError as error:
        raise UnreadableInputError(f"{path}: has another structure", remedies=[START_OVER]) from error


def _view_examples(arrays: Arrays, variant: Variant) -> Iterator[Example]:
    targets, training = variant.network.targets, variant.training
    types = [PhiType(name) for name in class_names("fine")[1:]]
    classes = [class_names(targets).index(class_of(one, targets)) for one in types]
    factors = [training.class_weights.get(HYPER_CLASS_OF[one], 1.0) for one in types]
    fine = arrays["labels"].astype(np.int64)
    labels = np.array([0, *classes], np.int32)[fine]
    weight_of_fine = np.array([1.0, *(training.phi_weight * factor for factor in factors)])
    weights = np.where(arrays["counts"], weight_of_fine[fine], 0.0)
    vocabulary = str(arrays["vocabulary"]).split("\n")
    features = arrays["features"][:, feature_columns(feature_names(variant.network.feature_set))]
    rows, gaps = arrays["rows"].astype(np.int32), arrays["gaps"].astype(np.int32)
    ends = np.cumsum(arrays["lengths"].astype(np.int64)).tolist()
    for (start, end), kind, is_weak in zip(
        itertools.pairwise([0, *ends]), arrays["kinds"].tolist(), arrays["weak"].tolist(), strict=True
    ):
        if kind in variant.leave_out:
            continue
        part = slice(start, end)
        factor = training.weak_weight if is_weak else 1.0
        yield Example(
            words=[vocabulary[i] for i in arrays["words"][part].tolist()],
            word_rows=rows[part],
            gaps=gaps[part],
            features=features[part],  # type: ignore[arg-type]
            labels=labels[part],
            weights=(weights[part] * factor).astype(np.float32),
        )
