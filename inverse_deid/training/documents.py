"""The documents of a training run: read, split into training and held-out documents, and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document
from inverse_deid.core.wording import _
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import (
    OFFICIAL_SIZES,
    flag_held_out,
    official_split,
    read_annotated,
    read_type_mapping,
    without_near_duplicates,
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """One gold file, split. A corpus to compare with is held out whole."""

    name: str
    train: list[Document] = field(repr=False)
    held_out: list[Document] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class RunDocuments:
    """All documents of a run."""

    corpora: list[Corpus]
    compare: list[Corpus]
    carriers: list[Document] = field(repr=False)
    hashes: Mapping[str, str]

    @property
    def gold(self) -> list[Document]:
        """The documents to train on."""
        return [doc for corpus in self.corpora for doc in corpus.train]

    @property
    def measured(self) -> list[Corpus]:
        """The corpora that have held-out documents."""
        return [corpus for corpus in (*self.corpora, *self.compare) if corpus.held_out]


def read_documents(config: RunConfig, say: Say) -> RunDocuments:
    """Read the corpora that a configuration names. No document is both trained on and held out.

    `say` receives a line about the documents: numbers and file names only.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: No document is left to learn from or to calibrate on.
    """
    types = read_type_mapping(config.mapping)
    config = _with_official_parts(config, say)
    names = _names(config)
    read = [read_annotated(path, types) for path in config.gold]
    compare = [Corpus(names[path], [], read_annotated(path, types)) for path in config.compare]
    compared = [doc for corpus in compare for doc in corpus.held_out]
    if compared:
        apart = [without_near_duplicates(docs, compared) for docs in read]
        n_left_out = sum(map(len, read)) - sum(map(len, apart))
        if n_left_out:
            say(
                _(
                    "{n_left_out} documents are left out: they, or near duplicates of them, are in a "
                    "corpus that the model is compared on",
                    n_left_out=n_left_out,
                )
            )
        read = apart
    corpora = _split([names[path] for path in config.gold], read, config)
    carriers = [doc for path in config.carriers for doc in read_annotated(path, types)]
    if carriers:
        held_out = [doc for corpus in corpora for doc in corpus.held_out]
        carriers = without_near_duplicates(carriers, compared + held_out)
    docs = RunDocuments(
        corpora, compare, carriers, {name: corpus_sha256(path) for path, name in names.items()}
    )
    _check(docs)
    return docs


def _split(names: Sequence[str], read: Sequence[list[Document]], config: RunConfig) -> list[Corpus]:
    """Hold out groups of documents that belong together, across corpora."""
    training = config.training
    everything = [doc for docs in read for doc in docs]
    flags = iter(flag_held_out(everything, training.validation_share, training.split_seed))
    corpora = []
    for name, docs in zip(names, read, strict=True):
        marked = [(doc, next(flags)) for doc in docs]
        rest = [doc for doc, is_out in marked if not is_out]
        corpora.append(Corpus(name, rest, [doc for doc, is_out in marked if is_out]))
    return corpora


def _check(docs: RunDocuments) -> None:
    files = ", ".join(corpus.name for corpus in docs.corpora)
    problem = ""
    if not docs.gold:
        problem = (
            "no document is left to train on: all are held out or are among those to compare with. "
            "Give other documents, or lower training.validation_share"
        )
    elif not any(_has(docs.gold, phi=True)):
        problem = (
            "the training documents have no PHI, and a network cannot learn from one class only. "
            "Give annotated documents"
        )
    elif not any(_has(docs.gold, phi=False)):
        problem = (
            "the training documents have nothing but PHI, and a network cannot learn from one class only. "
            "Give whole narratives"
        )
    elif not any(_has([doc for corpus in docs.corpora for doc in corpus.held_out], phi=True)):
        problem = (
            "no held-out document has PHI to calibrate on. Give more documents, raise "
            "training.validation_share or change training.split_seed"
        )
    if problem:
        raise ConfigurationError(f"{files}: {problem}")


def _has(docs: Sequence[Document], *, phi: bool) -> Iterator[bool]:
    return (bool(((span_of_token(tokenize(doc.text), doc.spans) >= 0) == phi).any()) for doc in docs)


def _with_official_parts(config: RunConfig, say: Say) -> RunConfig:
    """Replace a folder of the 2014 i2b2 release by its official parts: train on one, compare on the other."""
    gold: list[Path] = []
    compare: list[Path] = []
    for path in config.compare:
        split = official_split(path)
        compare += [path] if split is None else split.test
        if split is not None:
            say(_("official split: the test part is used to compare, the training part is left out"))
    for path in config.gold:
        split = official_split(path)
        if split is None:
            gold.append(path)
            continue
        gold += split.training
        compare += split.test
        sizes = tuple(sum(1 for part in parts for _ in part.rglob("*.xml")) for parts in split)
        usual = "as in the task" if sizes == OFFICIAL_SIZES else "unlike the task's 790 and 514"
        say(
            _(
                "official split: {size} training and {size_2} test records, {usual}",
                size=sizes[0],
                size_2=sizes[1],
                usual=usual,
            )
        )
    return change_settings(config, gold=tuple(gold), compare=tuple(compare))


def _names(config: RunConfig) -> dict[Path, str]:
    """Return a name for each file: its folder and its stem, or the whole path where that is not enough.

    Raises:
        ConfigurationError: A file is given twice, so that it would be trained on and held out.
    """
    annotated = [path.resolve() for path in (*config.gold, *config.compare)]
    twice = next((path for path in annotated if annotated.count(path) > 1), None)
    if twice is not None:
        raise ConfigurationError(
            _("{twice}: given twice. Use a corpus once, either to train or to compare", twice=twice)
        )
    paths = dict.fromkeys((*config.gold, *config.compare, *config.carriers))
    short = {path: f"{path.resolve().parent.name}/{path.stem}" for path in paths}
    taken = list(short.values())
    return {path: name if taken.count(name) == 1 else str(path) for path, name in short.items()}


def corpus_sha256(path: Path) -> str:
    """Return the hash of a file, or of all XML files below a folder.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for file in sorted(path.rglob("*.xml")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    except OSError as error:
        raise UnreadableInputError(
            _("{path}: cannot be read ({strerror}). Check the path", path=path, strerror=error.strerror)
        ) from error
    return digest.hexdigest()
