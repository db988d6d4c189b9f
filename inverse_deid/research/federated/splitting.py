"""Which documents lie at which site: disjoint, and all documents of one patient at one site."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import patient_groups

Split = dict[str, list[Document]]
"""The documents of each site by its name."""


def split_evenly(docs: Sequence[Document], n_sites: int, seed: int) -> Split:
    """Disjoint sites of about equal size; documents that belong together stay together.

    Args:
        docs: Annotated documents.
        n_sites: At least 1.
        seed: Changes who is where.

    Returns:
        The sites `site-1`, `site-2` and so on.

    Raises:
        ConfigurationError: A site stays empty.

    Source:
        Festag and Spreckelsen 2020, "Experiments": five private sets of similar size,
        all records of a patient in one.
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
        sizes[smallest] += _n_tokens(group)
    return _without_empty(sites)


def split_by_kind(docs: Sequence[Document], kinds: Mapping[str, Sequence[str]]) -> Split:
    """Sites that differ in what they write: a document's id tells its kind.

    Args:
        docs: Annotated documents.
        kinds: The beginnings of the ids of each site's documents, by its name.

    Returns:
        Documents that belong together are at the site of most of them.

    Raises:
        ConfigurationError: A document is of no site's kind, or a site stays empty.
    """
    numbers = patient_groups(docs)
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for doc, number in zip(docs, numbers, strict=True):
        votes[number][site_of(doc.id, kinds)] += 1
    sites: Split = {name: [] for name in kinds}
    for doc, number in zip(docs, numbers, strict=True):
        sites[votes[number].most_common(1)[0][0]].append(doc)
    return _without_empty(sites)


def without_patients_of(docs: Sequence[Document], of: Sequence[Document]) -> list[Document]:
    """Leave out documents of patients, or copies of documents, that must stay apart.

    Args:
        docs: To train on.
        of: Test documents.
    """
    numbers = patient_groups([*of, *docs])
    apart = set(numbers[: len(of)])
    return [doc for doc, number in zip(docs, numbers[len(of) :], strict=True) if number not in apart]


def site_of(doc_id: str, kinds: Mapping[str, Sequence[str]]) -> str:
    """The site of a document's kind.

    Raises:
        ConfigurationError: None, or more than one.

    Example:
        >>> site_of("L1-07", {"letters": ["L1-", "L2-"], "narratives": ["vaers-"]})
        'letters'
    """
    found = [name for name, beginnings in kinds.items() if doc_id.startswith(tuple(beginnings))]
    if len(found) != 1:
        which = "several sites" if found else "no site"
        raise ConfigurationError(f"document {doc_id}: of the kind of {which}; mend [sites.kinds]")
    return found[0]


def _n_tokens(docs: Sequence[Document]) -> int:
    return sum(len(tokenize(doc.text)) for doc in docs)


def _without_empty(sites: Split) -> Split:
    empty = [name for name, docs in sites.items() if not docs]
    if empty:
        raise ConfigurationError(
            f"site {', '.join(empty)}: has no document; give more documents or fewer sites"
        )
    return sites
