"""Small corpora and scores of a network that is right with a little noise, for the tests of studies."""

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.studies.scoring import TokenScores, analyse_corpus

TEXT = "Seen by Dr Okonkwo on 12/03/2019 with a rash."
SPANS = (PhiSpan(11, 18, PhiType.DOCTOR), PhiSpan(22, 32, PhiType.DATE))


def corpus_of(name, n_documents=10):
    return analyse_corpus(name, [Document(f"{name}{i}", TEXT, SPANS) for i in range(n_documents)])


def scores_of(corpus, seed=0):
    rng = np.random.default_rng(seed)
    right = np.where(corpus.is_phi, 0.1, 0.9) + rng.uniform(-0.08, 0.08, len(corpus.types))
    best = (right < 0.5).astype(np.uint8)
    return TokenScores(right.astype(np.float32), best, best)
