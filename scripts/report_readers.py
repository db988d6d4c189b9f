"""Compare the network, the network with the second reader, and the second reader alone.

    python scripts/report_readers.py > reports/readers.md

Needs the corpora of configs/default.toml (`scripts/prepare_training_data.py`). Prints Markdown, numbers only.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np
from msgspec.structs import replace

from inverse_deid.core.revision import revision
from inverse_deid.core.values import Document, RuleAnalysis, Tokens
from inverse_deid.masking.assemble import packaged_model, packaged_second_reader
from inverse_deid.masking.pipeline import Scores, TokenScorer
from inverse_deid.masking.scorers import (
    CarefulScorer,
    NetworkScorer,
    feature_columns,
    find_doubtful,
    scorer_inputs,
)
from inverse_deid.network.doubt import EVERYTHING
from inverse_deid.network.folder import model_fingerprint, read_model
from inverse_deid.network.second_reader import EncoderParts, SecondReader, read_encoder
from inverse_deid.text.interning import InternedWords
from inverse_deid.training.calibration import precision_at
from inverse_deid.training.config import read_run_config
from inverse_deid.training.corpus import read_annotated
from inverse_deid.training.documents import read_documents
from inverse_deid.training.scoring import score_documents

RECALLS = (0.98, 0.99, 0.995)
ROOT = Path(__file__).parents[1]
DEV = {"adr/dev": ROOT / "runs/adr-dev.jsonl", "letters/dev": ROOT / "narratives/letters-dev.jsonl"}


class _Alone:
    """The second reader asked about every token, as if the network knew nothing."""

    def __init__(self, parts: EncoderParts) -> None:
        self._reader = SecondReader(dataclasses.replace(parts, weight=1.0), 1)
        self._columns = np.array(feature_columns(parts.feature_names), np.intp)
        self._n_classes = len(parts.class_names)

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        """Return the scores of every token of every document."""
        undecided = [np.full((len(t), self._n_classes), 1 / self._n_classes, np.float32) for t in tokens]
        inputs = scorer_inputs(tokens, analyses, self._columns)
        means = self._reader.begin(inputs, undecided, find_doubtful(EVERYTHING, undecided, analyses))()
        return [Scores(p[:, 0], np.zeros(len(p), np.uint8)) for p in means]


def _systems() -> dict[str, Callable[[InternedWords], TokenScorer]]:
    network, encoder = read_model(packaged_model()), read_encoder(packaged_second_reader())
    return {
        "network": lambda interned: NetworkScorer(network, interned, 1),
        "with second reader": lambda interned: CarefulScorer(NetworkScorer(network, interned, 1), encoder, 1),
        "second reader alone": lambda interned: _Alone(encoder),
    }


def _corpora() -> dict[str, list[Document]]:
    config = replace(read_run_config(ROOT / "configs/default.toml"), carriers=())
    held_out = {
        f"{corpus.name} (held out)": corpus.held_out
        for corpus in read_documents(config, lambda _: None).corpora
    }
    return {**{name: read_annotated(path) for name, path in DEV.items()}, **held_out}


def _quality() -> Iterator[str]:
    like = read_model(packaged_model()).operating_points["balanced"]
    yield f"| documents | reader | {' | '.join(f'precision at recall {r:g}' for r in RECALLS)} |"
    yield "|---|---|" + "---|" * len(RECALLS)
    for corpus, docs in _corpora().items():
        for name, make in _systems().items():
            interned = InternedWords()
            scored = score_documents(make(interned), interned, corpus, docs)
            row = " | ".join(f"{100 * precision_at(scored, recall, like):.1f}" for recall in RECALLS)
            yield f"| {corpus} | {name} | {row} |"


def _cost(documents: Path) -> Iterator[str]:
    yield "| reader | words per second | memory, MiB |"
    yield "|---|---|---|"
    n_words = sum(len(doc.text.split()) for doc in read_annotated(documents))
    for name, options in {"network": ["--fast"], "with second reader": ["--careful"]}.items():
        seconds, peak = [], 0
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "inverse_deid.cli.main", "mask", documents, "--out", folder]
                started = time.perf_counter()
                run = subprocess.Popen([*map(str, command), "-q", "--threads", "1", *options])
                while run.poll() is None:
                    peak = max(peak, _peak_kib(run.pid))
                    time.sleep(0.02)
                if run.returncode:
                    raise SystemExit("masking failed")
                seconds.append(time.perf_counter() - started)
        yield f"| {name} | {n_words / sorted(seconds)[1]:,.0f} | {peak / 1024:.0f} |"


def _peak_kib(pid: int) -> int:
    """Return the largest resident memory of a process so far, 0 if it has just ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


@click.command()
@click.option(
    "--documents",
    type=click.Path(exists=True, path_type=Path),
    default=ROOT / "narratives/letters-train.jsonl",
)
def main(documents: Path) -> None:
    """Print the comparison."""
    print("# Network and second reader\n")
    print(f"Made by `python scripts/report_readers.py` at revision {revision() or 'unknown'}")
    network, encoder = model_fingerprint(packaged_model()), model_fingerprint(packaged_second_reader())
    print(f"with the network {network[:12]} and the second reader {encoder[:12]}.\n")
    print("## Quality\n")
    print("Precision in %, before the document passes, at a given recall of identifying tokens.\n")
    for line in _quality():
        print(line, flush=True)
    print("\n## Cost\n")
    print("`inverse-deid mask --threads 1` from start to end; words per second, median of three runs.\n")
    for line in _cost(documents):
        print(line, flush=True)


if __name__ == "__main__":
    main()
