"""Word vectors learned from a corpus itself, for a language without any at hand.

Their vocabulary is that of the corpus, names included: good for a study, never to be published.

Source: Levy and Goldberg 2014 (truncated SVD of positive pointwise mutual information).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid.text.tokenizer import tokenize

MIN_COUNT = 2
WINDOW = 4
"""Tokens on either side that a word is seen with."""


def learned_vectors(docs: Sequence[Document], dim: int, seed: int) -> WordVectors:
    """Learn vectors from running text; annotations are not read. The seed is of the decomposition.

    Raises:
        ConfigurationError: Fewer words occur twice than a vector is long.
    """
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD

    texts = [tokenize(doc.text.lower()).words for doc in docs]
    counts = Counter(word for words in texts for word in words)
    vocabulary = sorted(word for word, count in counts.items() if count >= MIN_COUNT)
    if len(vocabulary) <= dim:
        raise ConfigurationError(
            f"{len(vocabulary)} words occur {MIN_COUNT} times. Vectors of length {dim} need more text"
        )
    number = {word: i for i, word in enumerate(vocabulary)}
    together: Counter[tuple[int, int]] = Counter()
    for words in texts:
        rows = [number[word] for word in words if word in number]
        for distance in range(1, WINDOW + 1):
            together.update(zip(rows, rows[distance:], strict=False))
    pairs = np.array(list(together), np.int64).reshape(-1, 2)
    values = np.fromiter(together.values(), np.float64, len(together))
    size = (len(vocabulary), len(vocabulary))
    seen = csr_matrix((values, (pairs[:, 0], pairs[:, 1])), size)
    seen = (seen + seen.T).tocoo()
    sums = np.asarray(seen.sum(axis=1)).ravel()
    information = np.log(seen.data * sums.sum() / (sums[seen.row] * sums[seen.col]))
    positive = csr_matrix((np.maximum(information, 0), (seen.row, seen.col)), size)
    vectors = TruncatedSVD(dim, random_state=seed).fit_transform(positive)
    return quantise(vocabulary, vectors.astype(np.float32))
