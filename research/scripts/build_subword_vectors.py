"""Learn vectors of words and of their parts from narratives without annotations.

The second embedding of the study of representations (the paper has FastText beside GloVe): vectors of 100
dimensions, learned from whole words and from runs of three to six characters. Those of the words that occur
at least three times are written, and those of all words of the study's documents; a word that the narratives
lack has the vectors of its parts. Words with a digit are left out, since the study gives them the vectors of
their forms, and so are words of parts that nothing was learned of. Narratives that share ten tokens in a row
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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from inverse_deid.network.encoding import quantise
from inverse_deid.text.tokenizer import tokenize

MIN_COUNT = 3
WORD_DIM = 100
N_EPOCHS = 5
PART_LENGTHS = (3, 6)
"""Characters of the shortest and of the longest part."""
RUN_LENGTH = 10
"""Tokens in a row that no narrative may share with a document."""
_SEED = 1


def read_words(paths: Iterable[Path]) -> Iterator[list[str]]:
    """Yield the words of each document in lower case."""
    for path in paths:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as lines
        ):
            for line in lines:
                yield list(tokenize(json.loads(line)["text"].lower()).words)


def choose_words(narratives: Iterable[Sequence[str]], documents: Iterable[Sequence[str]]) -> list[str]:
    """Return the words without a digit that a study can need, the most frequent ones first."""
    counts = collections.Counter(word for words in narratives for word in words)
    needed = {word for words in documents for word in words}
    found = {word for word, count in counts.items() if count >= MIN_COUNT} | needed
    return sorted((word for word in found if word.isalpha()), key=lambda word: (-counts[word], word))


def list_runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + RUN_LENGTH]) for i in range(len(words) - RUN_LENGTH + 1)}


def main(out: str, documents: str, *narratives: str) -> None:
    from gensim.models import FastText

    docs = list(read_words(map(Path, documents.split(","))))
    known = set().union(*map(list_runs, docs))
    read = list(read_words(map(Path, narratives)))
    texts = [words for words in read if known.isdisjoint(list_runs(words))]
    words = choose_words(texts, docs)
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
    is_learned = packed.codes.any(axis=1)  # of unknown parts alone: next to nothing, as it began
    words = np.array(packed.words)[is_learned]
    np.savez_compressed(out, words=words, codes=packed.codes[is_learned], scale=packed.scale)
    n_made = sum(word not in learned.key_to_index for word in words.tolist())
    print(f"{len(read) - len(texts)} of {len(read)} narratives share a passage with a document")
    print(
        f"{len(words)} words, {n_made} of them made of their parts, {Path(out).stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
