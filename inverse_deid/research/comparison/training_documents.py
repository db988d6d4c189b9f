"""What the systems learn from, kept apart from what they are tested on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.text.alignment import span_of_token
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import read_annotated, without_near_duplicates
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]


def training_documents(
    files: Sequence[Path], test: Path, test_docs: Sequence[Document], say: Say
) -> list[Document]:
    """Read what is learned from; what belongs together with a test document is left out.

    That is what shares its id, a run of ten tokens or the full name of a patient (or its
    number in a file name of the 2014 i2b2 task), see `without_near_duplicates`.

    Args:
        files: Annotated files or folders.
        test: The test file or folder.
        test_docs: What it holds.
        say: Gets a line on what was left out; numbers and names of files only.

    Raises:
        InputError: A file cannot be read.
        ConfigurationError: A file is the test file or was given twice, or what is left holds
            no PHI, or nothing else.
    """
    hashes = {corpus_sha256(test): "the test file"}
    kept: list[Document] = []
    for file in files:
        if (same := hashes.get(digest := corpus_sha256(file))) is not None:
            raise ConfigurationError(f"{file}: has the content of {same}; give other documents with --train")
        hashes[digest] = str(file)
        docs = read_annotated(file)
        apart = without_near_duplicates(docs, test_docs)
        if len(apart) < len(docs):
            say(
                f"{file}: {len(docs) - len(apart):,} of {len(docs):,} documents are left out: they share id, "
                "patient or text with test documents"
            )
        kept += apart
    _check(kept)
    return kept


def _check(docs: Sequence[Document]) -> None:
    owners = [span_of_token(tokenize(doc.text), doc.spans) for doc in docs]
    problem = ""
    if not docs:
        problem = "no document is left to learn from: all stand, or some much like them, in the test file"
    elif not any((one >= 0).any() for one in owners):
        problem = "the documents to learn from hold no PHI"
    elif not any((one < 0).any() for one in owners):
        problem = "the documents to learn from hold nothing but PHI"
    if problem:
        raise ConfigurationError(f"{problem}; give other annotated documents with --train")
