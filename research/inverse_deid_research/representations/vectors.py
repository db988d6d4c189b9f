"""Word vectors: learned from a corpus, and for unknown words, by their shape or their parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.representations.sentences import fallbacks_of

MIN_COUNT = 2
WINDOW = 4
"""Tokens on either side that a word is seen with."""
_RIDGE = 1.0
_PART_LENGTHS = (3, 4, 5)
_MIN_PARTS = 3
"""Words of the vocabulary that a part must occur in."""


def learn_vectors(docs: Sequence[Document], dim: int, seed: int) -> WordVectors:
    """Learn word vectors from running text, for a language without any at hand.

    The vocabulary is that of the corpus, names included: good for a study, never to be published.
    Annotations are not read. The seed is of the decomposition.

    Raises:
        ConfigurationError: Fewer words occur twice than a vector is long.

    Source: Levy and Goldberg 2014 (truncated SVD of positive pointwise mutual information).
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


def add_fallbacks(vectors: WordVectors, docs: Sequence[Document]) -> WordVectors:
    """Give vectors to the forms of `fallbacks_of` that unknown words of documents share.

    A form has the mean vector of the words around it, mapped to where the vectors of known words are
    in relation to that mean. Forms are digits and shapes alone, so that they tell no name.

    Source: Khodak et al. 2018, "A la carte embedding", equations 2 and 3.
    """
    numbers, matrix = vectors.numbers(), vectors.matrix()
    around: defaultdict[str, FloatArray] = defaultdict(lambda: np.zeros(vectors.dim, np.float32))
    counts: Counter[str] = Counter()
    for doc in docs:
        words = tokenize(doc.text).words
        rows = matrix[[numbers.get(word.lower(), 0) for word in words]]
        sums = np.concatenate([np.zeros((1, vectors.dim)), np.cumsum(rows, axis=0)]).astype(np.float32)
        for i, word in enumerate(words):
            context = sums[min(len(words), i + WINDOW + 1)] - sums[max(0, i - WINDOW)] - rows[i]
            lower = word.lower()
            public = {form for form in fallbacks_of(word) if set(form) <= {"0", "X"}}
            for form in {lower} if lower in numbers else public:
                counts[form] += 1
                around[form] += context
    known = [word for word in counts if word in numbers]
    forms = sorted(form for form, n in counts.items() if form not in numbers and n >= MIN_COUNT)
    if not known or not forms:
        return vectors
    seen, wanted = (np.array([around[w] / counts[w] for w in part]) for part in (known, forms))
    weights = np.array([counts[word] for word in known], np.float32)[:, None]
    target = matrix[[numbers[word] for word in known]]
    gram = seen.T @ (weights * seen) + _RIDGE * np.eye(vectors.dim, dtype=np.float32)
    made = wanted @ np.linalg.solve(gram, seen.T @ (weights * target))
    return quantise((*vectors.words, *forms), np.concatenate([matrix[1:], made]).astype(np.float32))


def add_subwords(vectors: WordVectors, docs: Sequence[Document]) -> WordVectors:
    """Give each unknown word without a digit the mean of the vectors of its parts.

    The parts are runs of three to five characters, whose vectors are fitted to those of the known words.
    Words with a digit are left for `add_fallbacks`, as the parts of a number have no meaning.
    The vocabulary then contains names: good for a study, never to be published.

    Source: Bojanowski et al. 2017 (the parts); Zhao et al. 2018, "Generalizing word embeddings using bag
    of subwords" (fitted to vectors that exist).
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge

    known = set(vectors.words)
    found = {word for doc in docs for word in tokenize(doc.text.lower()).words} - known
    wanted = sorted(word for word in found if not any(map(str.isdigit, word)))
    if not wanted:
        return vectors
    span = (min(_PART_LENGTHS), max(_PART_LENGTHS))
    bag = TfidfVectorizer(analyzer="char_wb", ngram_range=span, min_df=_MIN_PARTS, use_idf=False, norm="l1")
    matrix = vectors.matrix()[1:]
    parts = bag.fit_transform(vectors.words)
    fitted = Ridge(alpha=1e-3, solver="lsqr", tol=1e-2, fit_intercept=False).fit(parts, matrix)
    made = fitted.predict(bag.transform(wanted))
    return quantise((*vectors.words, *wanted), np.concatenate([matrix, made]).astype(np.float32))
