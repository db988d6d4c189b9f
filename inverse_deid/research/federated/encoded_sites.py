"""The documents of a study: read, dealt out to the sites, encoded once for all methods and seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.federated.splitting import Split, split_by_kind, split_evenly, without_patients_of
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.corpus import hold_out_patients, read_annotated, read_type_mapping
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid.training.run import load_word_vectors

Say = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSite:
    """A site's documents as the network reads them.

    Args:
        name: Of the site.
        train: Trained on.
        held_out: Calibrated on, never trained on.
        own_test: Numbers of the test documents of the site's own kind; empty where
            sites do not differ in kind.
    """

    name: str
    train: list[Example] = field(repr=False)
    held_out: list[Example] = field(repr=False)
    own_test: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedStudy:
    """All that the methods train on and are measured on.

    Args:
        sites: In a fixed order.
        test: Documents of no site.
        vectors: The public vocabulary.
    """

    sites: tuple[EncodedSite, ...]
    test: list[Example] = field(repr=False)
    vectors: WordVectors = field(repr=False)


@dataclass(frozen=True, slots=True)
class DealtDocuments:
    """Who has which documents.

    Args:
        sites: What each site trains on and what it holds out.
        test: Documents of no site.
        n_left_out: Documents of patients in the test documents.
    """

    sites: Mapping[str, tuple[list[Document], list[Document]]] = field(repr=False)
    test: list[Document] = field(repr=False)
    n_left_out: int


def dealt_documents(config: StudyConfig) -> DealtDocuments:
    """Read the documents of a study and deal them out.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: A site is empty.
    """
    types = read_type_mapping(config.mapping)
    test = [doc for path in config.test for doc in read_annotated(path, types)]
    everything = [doc for path in config.train for doc in read_annotated(path, types)]
    docs = without_patients_of(everything, test)
    sites = {
        name: hold_out_patients(of_site, config.sites.held_out, config.sites.seed)
        for name, of_site in _dealt(config, docs).items()
    }
    return DealtDocuments(sites, test, len(everything) - len(docs))


def study_vectors(config: StudyConfig) -> WordVectors:
    """The public word vectors of a study.

    Raises:
        InputError: They cannot be read.
        ConfigurationError: They do not fit the network.
    """
    vectors = load_word_vectors(config.word_vectors)
    if vectors.dim != config.network.word_dim:
        raise ConfigurationError(f"network.word_dim must be {vectors.dim}, as of the word vectors")
    return vectors


class DocumentEncoder:
    """Turns documents into what the network reads.

    Args:
        config: The study.
        vectors: Its word vectors.
    """

    def __init__(self, config: StudyConfig, vectors: WordVectors) -> None:
        self._maker = ExampleMaker(config.network, load_lexicon(), vectors)
        self._phi_weight = config.training.phi_weight

    def to_train_on(self, docs: Sequence[Document]) -> list[Example]:
        """Documents of a site, PHI weighing as the study has it."""
        return self._encoded(docs, self._phi_weight)

    def to_measure_on(self, docs: Sequence[Document]) -> list[Example]:
        """Documents that nothing is trained on."""
        return self._encoded(docs, 1.0)

    def _encoded(self, docs: Sequence[Document], phi_weight: float) -> list[Example]:
        made = self._maker.make_many([(doc, Weights(phi=phi_weight)) for doc in docs])
        return [example for example in made if len(example)]


def encoded_study(config: StudyConfig, say: Say) -> EncodedStudy:
    """Read and encode the documents of a study.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: A site is empty or lacks PHI, or the vectors do not fit the network.
    """
    vectors = study_vectors(config)
    dealt = dealt_documents(config)
    if dealt.n_left_out:
        say(f"{dealt.n_left_out} documents are left out: test ones are of the same patients")
    encoder = DocumentEncoder(config, vectors)
    own_test = _own_test(config, dealt.test)
    sites = []
    for name, (train, held_out) in dealt.sites.items():
        encoded = encoder.to_train_on(train), encoder.to_measure_on(held_out)
        site = EncodedSite(name, *encoded, own_test.get(name, ()))
        _check(site)
        sites.append(site)
        say(f"{name}: {len(train)} documents, {n_tokens(site.train)} tokens; {len(held_out)} held out")
    return EncodedStudy(tuple(sites), encoder.to_measure_on(dealt.test), vectors)


def n_tokens(examples: Sequence[Example]) -> int:
    """Tokens of documents."""
    return sum(map(len, examples))


def dictionary_columns(config: StudyConfig) -> list[int]:
    """Feature columns that dictionary dropout hides."""
    names = feature_names(config.network.feature_set)
    return [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]


def vectors_hash(vectors: WordVectors) -> str:
    """Changes with any word or number of the vocabulary."""
    digest = hashlib.sha256("\n".join(vectors.words).encode())
    digest.update(vectors.codes.tobytes() + vectors.scale.tobytes())
    return digest.hexdigest()


def _dealt(config: StudyConfig, docs: Sequence[Document]) -> Split:
    if config.sites.kinds:
        return split_by_kind(docs, config.sites.kinds)
    return split_evenly(docs, config.sites.number, config.sites.seed)


def _own_test(config: StudyConfig, test: Sequence[Document]) -> Mapping[str, tuple[int, ...]]:
    """The test documents of each site's kind."""
    if not config.sites.kinds:
        return {}
    numbers = {doc.id: i for i, doc in enumerate(test)}
    split = split_by_kind(test, config.sites.kinds)
    return {name: tuple(numbers[doc.id] for doc in docs) for name, docs in split.items()}


def _check(site: EncodedSite) -> None:
    for examples, what in ((site.train, "to train on"), (site.held_out, "to calibrate on")):
        if not any((example.labels > 0).any() for example in examples):
            raise ConfigurationError(
                f"site {site.name}: no document with PHI {what}; give it more documents, or change "
                "sites.seed or sites.held_out"
            )
