"""The documents of a study: read, dealt out to the sites, encoded once for all methods and seeds.

Sites are disjoint, and all documents of one patient are at one site.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.network.batches import Example
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import (
    hold_out_patients,
    patient_groups,
    read_annotated,
    read_type_mapping,
    without_shared_passages,
)
from inverse_deid_research.federated.network import CommonNetwork
from inverse_deid_research.federated.settings import FederatedStudySettings
from inverse_deid_research.studies.study import Say

Split = dict[str, list[Document]]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSite:
    """A site's documents as the network reads them; `held_out` is calibrated on, never trained on."""

    name: str
    train: list[Example] = field(repr=False)
    held_out: list[Example] = field(repr=False)
    # Numbers of test documents of the site's kind, if sites differ in kind.
    own_test: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedStudy:
    """The sites in a fixed order, and test documents of no site."""

    sites: tuple[EncodedSite, ...]
    test: list[Example] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DealtDocuments:
    """Training and held-out documents of each site, and the test documents of no site."""

    sites: Mapping[str, tuple[list[Document], list[Document]]] = field(repr=False)
    test: list[Document] = field(repr=False)
    n_left_out: int  # training documents of patients who are in the test documents
    n_cut: int  # those that lost lines because they share ten tokens in a row with a test document


def deal_documents(settings: FederatedStudySettings) -> DealtDocuments:
    """Read and deal out the documents of a study.

    `InputError` if a corpus cannot be read, `ConfigurationError` if a site is empty.
    """
    data, deal = settings.data, settings.sites
    types = read_type_mapping(data.mapping)
    test = [doc for path in data.test for doc in read_annotated(path, types)]
    everything = [doc for path in data.train for doc in read_annotated(path, types)]
    docs = without_shared_passages(everything, test)
    whole = {doc.text for doc in everything}
    n_cut = sum(doc.text not in whole for doc in docs)
    kinds = deal.kinds
    split = split_by_kind(docs, kinds) if kinds else split_evenly(docs, len(deal.names), deal.seed)
    sites = {name: hold_out_patients(some, deal.held_out, deal.seed) for name, some in split.items()}
    return DealtDocuments(sites, test, len(everything) - len(docs), n_cut)


def encode_study(settings: FederatedStudySettings, common: CommonNetwork, say: Say) -> EncodedStudy:
    """Read and encode the documents of a study; errors as in `deal_documents`, and where a site lacks PHI."""
    dealt, kinds = deal_documents(settings), settings.sites.kinds
    if dealt.n_left_out:
        say(f"left out: {dealt.n_left_out} documents of patients who are in the test documents")
    if dealt.n_cut:
        say(f"cut: lines of {dealt.n_cut} documents that share ten words in a row with a test document")
    numbers = {doc.id: i for i, doc in enumerate(dealt.test)}
    own_test = split_by_kind(dealt.test, kinds) if kinds else {}
    sites = []
    for name, (train, held_out) in dealt.sites.items():
        site = EncodedSite(
            name,
            common.encode(train, to_train_on=True),
            common.encode(held_out, to_train_on=False),
            tuple(numbers[doc.id] for doc in own_test.get(name, ())),
        )
        for examples, purpose in ((site.train, "to train on"), (site.held_out, "to calibrate on")):
            if not any((example.labels > 0).any() for example in examples):
                raise ConfigurationError(
                    f"site {name}: no document with PHI {purpose}. Give it more documents, or change "
                    "sites.seed or sites.held_out"
                )
        sites.append(site)
        say(f"{name}: {len(train)} documents, {count_tokens(site.train)} tokens, {len(held_out)} held out")
    return EncodedStudy(tuple(sites), common.encode(dealt.test, to_train_on=False))


def count_tokens(examples: Sequence[Example]) -> int:
    return sum(map(len, examples))


def split_evenly(docs: Sequence[Document], n_sites: int, seed: int) -> Split:
    """Split documents into sites `site-1`, `site-2` and so on of about equal size.

    Documents of one patient stay together. `ConfigurationError` if a site stays empty.

    Source: Festag and Spreckelsen 2020, "Experiments": five private sets of similar size, all records
    of a patient in one.
    """
    groups: dict[int, list[Document]] = defaultdict(list)
    for doc, number in zip(docs, patient_groups(docs), strict=True):
        groups[number].append(doc)
    drawn = [groups[number] for number in sorted(groups)]
    random.Random(seed).shuffle(drawn)
    sites: Split = {f"site-{i + 1}": [] for i in range(n_sites)}
    sizes = dict.fromkeys(sites, 0)
    for group in drawn:
        smallest = min(sites, key=lambda name: sizes[name])
        sites[smallest] += group
        sizes[smallest] += sum(len(tokenize(doc.text)) for doc in group)
    _refuse_empty(sites)
    return sites


def split_by_kind(docs: Sequence[Document], kinds: Mapping[str, Sequence[str]]) -> Split:
    """Split documents into sites that differ in what they write, by the ids of the documents.

    All documents of a patient are at the site of most of them. `ConfigurationError` if a document is not
    of exactly one site's kind, or a site stays empty.
    """
    numbers = patient_groups(docs)
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for doc, number in zip(docs, numbers, strict=True):
        votes[number][find_site(doc.id, kinds)] += 1
    sites: Split = {name: [] for name in kinds}
    for doc, number in zip(docs, numbers, strict=True):
        sites[votes[number].most_common(1)[0][0]].append(doc)
    _refuse_empty(sites)
    return sites


def find_site(doc_id: str, kinds: Mapping[str, Sequence[str]]) -> str:
    """Return the site of a document's kind; `ConfigurationError` if there is none, or several.

    Example:
        >>> find_site("L1-07", {"letters": ["L1-", "L2-"], "narratives": ["vaers-"]})
        'letters'
    """
    found = [name for name, prefixes in kinds.items() if doc_id.startswith(tuple(prefixes))]
    if len(found) != 1:
        which = "several sites" if found else "no site"
        raise ConfigurationError(f"document {doc_id}: its id fits {which}. Correct [sites.kinds]")
    return found[0]


def _refuse_empty(sites: Split) -> None:
    empty = [name for name, docs in sites.items() if not docs]
    if empty:
        raise ConfigurationError(
            f"site {', '.join(empty)}: has no document. Give more documents or fewer sites"
        )
