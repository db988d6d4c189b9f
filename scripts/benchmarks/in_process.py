"""Measure what runs in one warm process: the de-identifier from Python, or the network alone.

    python -m benchmarks.in_process warm|careful|onnx|keras FILE [--cores one|all] [--started SECONDS]

Prints JSON. The clock starts when everything is loaded and a few documents were done; no document of the
measured ones was seen before, and their words are not known.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.peer import N_FIRST, peak_memory_mb, stay_on_one_core
from inverse_deid.choices.table import ReadingMode
from inverse_deid.core.values import Document, RuleAnalysis, Tokens
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

BATCH_DOCUMENTS = 500
N_NARRATIVES = 200
NARRATIVE_TOKENS = 30


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cores", choices=("one", "all"), default="all")
    parser.add_argument("--started", type=float, default=time.time())
    given = parser.parse_args()
    if given.cores == "one":
        stay_on_one_core()
    with given.file.open(encoding="utf-8") as stream:
        docs = [Document(str(line["id"]), line["text"]) for line in map(json.loads, stream)]
    first, rest = docs[:N_FIRST], docs[N_FIRST:]
    run, more = KINDS[given.kind](1 if given.cores == "one" else 0, docs)
    run(first)
    ready = time.time()
    began = time.perf_counter()
    n_tokens = run(rest)
    seconds = time.perf_counter() - began
    figures = {
        "documents": len(rest),
        "tokens": n_tokens,
        "seconds": round(seconds, 6),
        "tokens_a_second": round(n_tokens / seconds),
        "seconds_to_first_output": round(ready - given.started, 2),
        **more(),
        "peak_memory_mb": peak_memory_mb(),
    }
    print(json.dumps(figures))


Run = Callable[[Sequence[Document]], int]
"""Handles documents; how many tokens they have."""
More = Callable[[], dict[str, float]]
"""What is measured after the clock has stopped."""


def warm(n_threads: int, docs: Sequence[Document], reading: ReadingMode = "fast") -> tuple[Run, More]:
    """The whole way from text to masked text, and single short narratives one after the other."""
    from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

    deidentifier = build_deidentifier(MaskingSettings(reading=reading, n_threads=n_threads))

    def run(some: Sequence[Document]) -> int:
        masked = (deidentifier.mask_many(batch) for batch in batches(some))
        return sum(len(one.tokens) for batch in masked for one in batch)

    def more() -> dict[str, float]:
        from benchmarks.narratives import pieces

        seconds = []
        for text in islice(pieces((doc.text for doc in docs), NARRATIVE_TOKENS), N_NARRATIVES):
            began = time.perf_counter()
            deidentifier.mask(Document("", text))
            seconds.append(time.perf_counter() - began)
        return {"ms_a_short_narrative": round(1000 * statistics.median(seconds), 2)} if seconds else {}

    return run, more


def onnx(n_threads: int, docs: Sequence[Document]) -> tuple[Run, More]:
    """ONNX Runtime as masking uses it: vectors of new words, then the tokens."""
    from inverse_deid.masking.assemble import packaged_model
    from inverse_deid.masking.scorers import feature_columns
    from inverse_deid.network.folder import read_model
    from inverse_deid.network.scorer import Scorer, ScorerInput

    parts = read_model(packaged_model())
    interned = InternedWords()
    columns = feature_columns(parts.feature_names)
    scorer = Scorer(parts, interned, n_threads)
    inputs = {
        doc.id: ScorerInput(tokens, analysis.ids, analysis.features[:, columns])
        for doc, tokens, analysis in analyse(docs, interned)
    }

    def run(some: Sequence[Document]) -> int:
        scores = (scorer.score([inputs[doc.id] for doc in batch]) for batch in batches(some))
        return sum(len(one) for batch in scores for one in batch)

    return run, dict


def keras(n_threads: int, docs: Sequence[Document]) -> tuple[Run, More]:
    """The network it was exported from, in Keras with TensorFlow; padding of the batches counts."""
    import numpy as np
    import tensorflow as tf

    from inverse_deid.masking.assemble import packaged_model
    from inverse_deid.masking.scorers import feature_columns
    from inverse_deid.network.batches import Example
    from inverse_deid.network.encoding import gap_codes, word_numbers
    from inverse_deid.network.export import load_weights
    from inverse_deid.network.folder import read_model
    from inverse_deid.network.network import build_network
    from inverse_deid.network.training import probabilities

    tf.config.threading.set_intra_op_parallelism_threads(n_threads)
    tf.config.threading.set_inter_op_parallelism_threads(n_threads)
    parts = read_model(packaged_model())
    network = build_network(parts.network, len(parts.feature_names), parts.word_vectors.matrix())
    load_weights(network, parts.weights)
    numbers, columns = parts.word_vectors.numbers(), feature_columns(parts.feature_names)
    examples = {
        doc.id: Example(
            words=tokens.words,
            word_rows=word_numbers(tokens.words, numbers),
            gaps=gap_codes(tokens),
            features=analysis.features[:, columns],
            labels=np.zeros(len(tokens), np.int32),
            weights=np.ones(len(tokens), np.float32),
        )
        for doc, tokens, analysis in analyse(docs, InternedWords())
    }

    def run(some: Sequence[Document]) -> int:
        scores = (
            probabilities(network, [examples[doc.id] for doc in batch], parts.network)
            for batch in batches(some)
        )
        return sum(len(one) for batch in scores for one in batch)

    return run, dict


def analyse(
    docs: Sequence[Document], interned: InternedWords
) -> Iterator[tuple[Document, Tokens, RuleAnalysis]]:
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = RuleAnalyser(load_lexicon(), interned).analyse_many(tokens)
    return zip(docs, tokens, analyses, strict=True)


KINDS = {"warm": warm, "careful": partial(warm, reading="careful"), "onnx": onnx, "keras": keras}


def batches(docs: Iterable[Document]) -> Iterator[list[Document]]:
    rest = iter(docs)
    while batch := list(islice(rest, BATCH_DOCUMENTS)):
        yield batch


if __name__ == "__main__":
    main()
