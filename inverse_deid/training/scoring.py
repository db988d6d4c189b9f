"""Score annotated documents as masking would, to calibrate on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import Document, Tokens
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.pipeline import TokenScorer, join_verdicts
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.calibration import ScoredCorpus, densities


def score_documents(
    scorer: TokenScorer, interned: InternedWords, name: str, docs: Sequence[Document]
) -> ScoredCorpus:
    """Score annotated documents with a scorer that shares `interned`."""
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = RuleAnalyser(load_lexicon(), interned).analyse_many(tokens)
    p_safe = [scores.p_safe for scores in scorer.score(tokens, analyses)]
    identifiers, n_documents = _number_identifiers(docs, tokens)
    return ScoredCorpus(
        name=name,
        is_phi=identifiers >= 0,
        p_safe=np.concatenate(p_safe),
        verdicts=join_verdicts(tokens, [analysis.verdicts for analysis in analyses]),
        densities=densities(p_safe),
        identifiers=identifiers,
        n_documents=n_documents,
    )


def _number_identifiers(
    docs: Sequence[Document], tokens: Sequence[Tokens]
) -> tuple[npt.NDArray[np.int64], int]:
    """Return `ScoredCorpus.identifiers`, and how many documents have any; a text counts once per document."""
    numbers: dict[tuple[int, str], int] = {}
    found = []
    for at, (doc, of_doc) in enumerate(zip(docs, tokens, strict=True)):
        owners = span_of_token(of_doc, doc.spans)
        texts = [doc.text[span.start : span.end].casefold() for span in doc.spans]
        ids = [numbers.setdefault((at, texts[i]), len(numbers)) if i >= 0 else -1 for i in owners.tolist()]
        found.append(np.array(ids, np.int64))
    return np.concatenate(found), len({at for at, _ in numbers})
