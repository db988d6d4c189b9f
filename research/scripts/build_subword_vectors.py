"""Learn vectors of words and of their parts from narratives without annotations.

The second embedding of the study of representations (the paper has FastText beside GloVe): vectors of 100
dimensions, learned from whole words and from runs of three to six characters. Those of the words that occur
at least three times are written, and those of all words of the study's documents; a word that the narratives
lack has the vectors of its parts. Words with a digit are left out, since the study gives them the vectors of
their forms, and so are words whose parts are all unknown. Lines of narratives that share ten tokens in a row
with a document are not learned from.

The file contains names of the documents: good for a study, never to be published.

Takes an environment of its own with `pip install . gensim==4.4.0`.

Usage: build_subword_vectors.py OUT.npz DOCUMENTS.jsonl,DOCUMENTS.jsonl NARRATIVES.jsonl.gz...

Source: Bojanowski et al. 2017, "Enriching word vectors with subword information".
"""

from __future__ import annotations

import collections
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.network.encoding import quantise
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.corpus import without_shared_passages

MIN_COUNT = 3
WORD_DIM = 100
N_EPOCHS = 5
PART_LENGTHS = (3, 6)
"""Characters of the shortest and of the longest part."""
_SEED = 1


def read_documents(paths: Iterable[Path]) -> list[Document]:
    """Return documents without annotations, numbered, as the ids of several files may be the same."""
    texts = []
    for path in paths:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return [Document(str(number), text) for number, text in enumerate(texts)]


def list_words(docs: Iterable[Document]) -> list[list[str]]:
    """Return the words of each document in lower case."""
    return [list(tokenize(doc.text.lower()).words) for doc in docs]


def count_characters(docs: Iterable[Document]) -> int:
    return sum(len(doc.text) for doc in docs)


def choose_words(narratives: Iterable[Sequence[str]], documents: Iterable[Sequence[str]]) -> list[str]:
    """Return the words without a digit that a study can need, the most frequent ones first."""
    counts = collections.Counter(word for words in narratives for word in words)
    needed = {word for words in documents for word in words}
    found = {word for word, count in counts.items() if count >= MIN_COUNT} | needed
    return sorted((word for word in found if word.isalpha()), key=lambda word: (-counts[word], word))


def main(out: str, documents: str, *narratives: str) -> None:
    from gensim.models import FastText

    docs, read = read_documents(map(Path, documents.split(","))), read_documents(map(Path, narratives))
    kept = without_shared_passages(read, docs)
    texts = list_words(kept)
    words = choose_words(texts, list_words(docs))
    shortest, longest = PART_LENGTHS
    # One worker, so that the same texts give the same vectors.
    learned = FastText(
        texts,
        vector_size=WORD_DIM,
        sg=1,
        min_count=MIN_COUNT,
        min_n=shortest,
        max_n=longest,
        epochs=N_EPOCHS,
        seed=_SEED,
        workers=1,
    ).wv
    packed = quantise(words, np.array([learned[word] for word in words], np.float32))
    # Where all parts are unknown, values are still near 0, as they began.
    is_learned = packed.codes.any(axis=1)
    words = np.array(packed.words)[is_learned]
    np.savez_compressed(out, words=words, codes=packed.codes[is_learned], scale=packed.scale)
    n_made = sum(word not in learned.key_to_index for word in words.tolist())
    n_read = count_characters(read)
    n_left_out = n_read - count_characters(kept)
    print(f"{n_left_out:,} of {n_read:,} characters left out: documents contain the same passages")
    size = Path(out).stat().st_size / 1e6
    print(f"{len(words)} words, {n_made} of them made from their parts, {size:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
