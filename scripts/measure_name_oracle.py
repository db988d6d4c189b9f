"""Measure what the masked text tells of a name that it hides, by the length of the document.

Usage: python scripts/measure_name_oracle.py [--documents 30] [--careful-documents 10] [--densities]

An attacker with the packaged model puts each of 30 surnames into the gaps of a masked document, masks it, and
rules out all names that give another output. The documents are invented: sentences of `letters-dev.jsonl`
without an identifier, in random order (fixed seeds), and a person who is named once per 100 words.

Two remedies are tried. Both mask the masked text again, so that their output depends on it alone: *second
pass* once, *until stable* until nothing is masked any more. They cost time, and words that do not identify.
With `--densities` it tries coarser densities instead, from which thresholds are computed. Prints Markdown.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from name_oracles import SURNAMES, Learnt, clean_sentences, invent_documents, learn

from inverse_deid.core.revision import revision
from inverse_deid.core.values import Document, FloatArray, MaskedDocument
from inverse_deid.masking import pipeline
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.pipeline import Deidentifier

ROOT = Path(__file__).parents[1]
LENGTHS = (15, 200, 1000)
SEED = 20260301
MARKER = "PHI"
MOST_PASSES = 10
PASSES = ("one pass", "second pass", "until stable")


@dataclass(slots=True)
class Figures:
    """What one way of masking gave for all documents of one length."""

    learnt: list[Learnt] = field(default_factory=list)
    n_shown: int = 0  # names that were not masked in the first pass
    n_words: int = 0  # that do not identify
    n_masked: int = 0  # of these


def mask_all(deidentifier: Deidentifier, texts: Sequence[str]) -> list[MaskedDocument]:
    """Mask texts in one batch."""
    return deidentifier.mask_many([Document(str(n), text) for n, text in enumerate(texts)])


def added_time(deidentifier: Deidentifier, templates: Sequence[str]) -> float:
    """Return the processor time of a second pass as a share of that of the first."""
    texts = [template.replace("{}", SURNAMES[0]) for template in templates]
    seconds: tuple[list[float], list[float]] = [], []
    for _ in range(3):
        given = texts
        for one in seconds:
            started = time.process_time()
            given = [masked.text for masked in mask_all(deidentifier, given)]
            one.append(time.process_time() - started)
    return median(seconds[1]) / median(seconds[0])


class Passes:
    """Masks texts again and again, and remembers what each became."""

    def __init__(self, deidentifier: Deidentifier) -> None:
        self._deidentifier = deidentifier
        self._known: dict[str, tuple[str, int]] = {}

    def mask(self, texts: Sequence[str]) -> list[tuple[str, int]]:
        """Return each masked text, and how many words were masked that are not a marker already."""
        todo = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = mask_all(self._deidentifier, todo)
        for text, one in zip(todo, found, strict=True):
            words = zip(one.tokens.words, one.decisions.keep.tolist(), strict=True)
            n_masked = sum(not keep and word != MARKER and word not in SURNAMES for word, keep in words)
            self._known[text] = one.text, n_masked
        return [self._known[text] for text in texts]

    def repeat(self, texts: Sequence[str], n_passes: int) -> list[tuple[str, int]]:
        """Return what is left after several passes, until nothing changes, and the words masked in all."""
        found = [(text, 0) for text in texts]
        for _ in range(n_passes):
            again = self.mask([text for text, _ in found])
            last = found
            found = [(text, before + n) for (text, n), (_, before) in zip(again, found, strict=True)]
            if [text for text, _ in last] == [text for text, _ in found]:
                break
        return found


def measure(deidentifier: Deidentifier, templates: Sequence[str]) -> dict[str, Figures]:
    """Attack every document, after one pass and after each remedy."""
    figures = {name: Figures() for name in PASSES}
    first, second, more = (Passes(deidentifier) for _ in PASSES)
    for template in templates:
        outputs = first.mask(fill(template))
        pairs_given = zip(outputs, SURNAMES, strict=True)
        hidden = [one for one, name in pairs_given if not re.search(rf"\b{name}\b", one[0])]
        texts = [text for text, _ in hidden]
        found = {
            "one pass": [(text, 0) for text in texts],
            "second pass": second.repeat(texts, 1),
            "until stable": more.repeat(texts, MOST_PASSES),
        }
        n_words = len(template.replace("{}", "").split())
        for name, pairs in found.items():
            figures[name].learnt.append(learn([text for text, _ in pairs]))
            figures[name].n_shown += len(SURNAMES) - len(hidden)
            figures[name].n_words += n_words * len(pairs)
            figures[name].n_masked += sum(n for _, n in pairs) + sum(n for _, n in hidden)
    return figures


def rows(reader: str, n_words: int, figures: dict[str, Figures], added: float) -> Iterator[str]:
    """Return a row for each way of masking."""
    for name, one in figures.items():
        n_told = sum(learnt.n_outputs > 1 for learnt in one.learnt)
        cells = (
            reader,
            f"{n_words:,}",
            name,
            f"{n_told} of {len(one.learnt)}",
            f"{mean(learnt.n_ruled_out for learnt in one.learnt):.2f}",
            str(max(learnt.most_ruled_out for learnt in one.learnt)),
            f"{mean(learnt.bits for learnt in one.learnt):.3f}",
            f"{100 * one.n_masked / one.n_words:.2f} %",
            f"+ {100 * added:.0f} %" if name == "second pass" else "-",
        )
        yield f"| {' | '.join(cells)} |"


def print_densities(sentences: Sequence[str], n_documents: int) -> None:
    """Attack documents of the greatest length whose density is rounded up, or is one for all."""
    deidentifier = build_deidentifier(MaskingSettings(reading="fast", n_threads=1))
    templates = invent_documents(sentences, LENGTHS[-1], n_documents, SEED + LENGTHS[-1])
    print("| density | documents with more than one output | names ruled out, mean | bits of 4.91 |")
    print("|---|---|---|---|")
    exact = pipeline.log_densities
    for step in (0.0, 0.1, 0.25, 0.5, None):

        def rounded(p_safe: FloatArray, bounds: Sequence[int], step: float | None = step) -> Any:
            found = exact(p_safe, bounds)
            if step is None:
                return np.full_like(found, found.mean())
            return np.ceil(found / step) * step if step else found

        pipeline.log_densities = rounded
        passes = Passes(deidentifier)
        found = [learn([text for text, _ in passes.mask(fill(one))]) for one in templates]
        n_told = sum(learnt.n_outputs > 1 for learnt in found)
        name = {None: "one for all", 0.0: "exact"}.get(step, f"rounded up to steps of {step}")
        figures = (mean(learnt.n_ruled_out for learnt in found), mean(learnt.bits for learnt in found))
        print(f"| {name} | {n_told} of {len(found)} | {figures[0]:.2f} | {figures[1]:.3f} |", flush=True)
    pipeline.log_densities = exact


def fill(template: str) -> list[str]:
    """Return a document with each surname."""
    return [template.replace("{}", name) for name in SURNAMES]


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=30)
    parser.add_argument("--careful-documents", type=int, default=10)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--densities", action="store_true")
    given = parser.parse_args()
    sentences = clean_sentences(ROOT / "narratives" / "letters-dev.jsonl")
    if given.densities:
        print_densities(sentences, given.documents)
        return
    print("# What the masked text tells of a name that it hides\n")
    command = "nice env OMP_NUM_THREADS=1 python scripts/measure_name_oracle.py > reports/name-oracle.md"
    print(f"Made by `{command}` at revision {revision() or 'unknown'}.\n")
    print(_HEAD.format(n_names=len(SURNAMES), n_sentences=len(sentences)))
    print(
        "| reader | words | masking | documents with more than one output | names ruled out, mean | "
        "names ruled out, most | bits of 4.91 | other words masked | time |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    n_shown = []
    for reader, n_documents in (("fast", given.documents), ("careful", given.careful_documents)):
        deidentifier = build_deidentifier(MaskingSettings(reading=reader, n_threads=1))
        for n_words in given.lengths if n_documents else ():
            templates = invent_documents(sentences, n_words, n_documents, SEED + n_words)
            figures = measure(deidentifier, templates)
            added = added_time(deidentifier, templates)
            n_shown.append(f"{reader}, {n_words:,} words: {figures['one pass'].n_shown:,}")
            print("\n".join(rows(reader, n_words, figures, added)), flush=True)
    print(f"\nNames that were not masked, of {len(SURNAMES)} per document: {'; '.join(n_shown)}.")


_HEAD = """An attacker with the packaged model puts each of {n_names} surnames into the gaps of a masked
document, masks it, and rules out every name that gives another output. The documents are invented: sentences
without an identifier from `narratives/letters-dev.jsonl` ({n_sentences:,} of them, in random order, fixed
seeds), and a person who is named once per 100 words. Names that the model does not mask are counted below the
table and left out of it.

*Second pass*: the masked text is masked again, and only what is kept in both leaves. *Until stable*: again
and again, at most ten times. *Bits*: of the 4.91 that tell one of 30 names from the others. *Other words
masked*: of the words that do not identify, in all passes together. *Time*: what the second pass adds, in
processor time of the first, for the same documents in one batch (median of three).
"""


if __name__ == "__main__":
    main()
