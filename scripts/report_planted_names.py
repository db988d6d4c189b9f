"""Measure names as Meldau et al. (2024) count them: 150 name tokens planted in 60 of 2,500 public narratives.

Usage: report_planted_names.py NARRATIVES.jsonl [--out reports/planted-names]

Writes `report.md` and `planted-names.csv`: both readers, names alone and all categories.
`build_planted_names.py` describes NARRATIVES.jsonl. Intervals are
those of Clopper and Pearson with tokens as units. Tokens of one narrative are not independent, so the
intervals are too narrow.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from held_out_names import N_CARRIERS, N_NARRATIVES, SEED, build_documents, read_narratives

from inverse_deid.choices.categories import parse_categories
from inverse_deid.choices.table import ReadingMode
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import clopper_pearson
from inverse_deid.evaluation.plain_text import format_interval, markdown_lines, share_cells
from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.entries import WordFlag
from inverse_deid.masking.assemble import (
    MaskingSettings,
    build_deidentifier,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.masking.pipeline import Deidentifier
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.text.tokenizer import tokenize

READERS: Sequence[ReadingMode] = ("careful", "fast")
"""Whether the second reader is asked, by name."""
CHOICES = ("name", "all")
MASKS = ("labelled NAME", "all masks")
FEWEST_LONG = 4
"""Letters of a token that counts as long."""
_CLASSES = tuple(HyperClass)
_BATCH = 256
_PEOPLE = {
    PhiType.PATIENT: "a patient",
    PhiType.RELATIVE: "a relative",
    PhiType.DOCTOR: "a professional",
}
_BEGINNING = re.compile(r"(?:^|[.;:]\s*)$")
_COLUMNS = ["reader", "categories", "masks", "group", "part", "of", "low", "high"]
PUBLISHED = {
    "recall: all": ("recall", (155, 179)),
    "recall: more than three letters": ("recall, more than three letters", (102, 108)),
    "recall: up to three letters": ("recall, up to three letters", (53, 71)),
    "precision": ("precision", (155, 282)),
    "false positives": ("false positives", (127, 263_272)),
    "narratives with a miss": ("narratives with a miss", (13, 71)),
}
"""Part and whole of Meldau et al. (2024), by group of ours.

The short tokens and the false positives are differences: 155 - 102 of 179 - 108, and 282 - 155 of
263,451 - 179.
"""

Key = tuple[str, str, str, str]
"""Reader, categories, masks and group."""


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """What became of the tokens of one narrative, one entry per token."""

    words: Sequence[str] = field(repr=False)
    is_name: BoolArray
    is_masked: BoolArray
    labels: Sequence[HyperClass]


def mask(deidentifier: Deidentifier, docs: Sequence[Document]) -> Iterator[MaskedWords]:
    """Mask documents and yield what became of their tokens."""
    for first in range(0, len(docs), _BATCH):
        batch = docs[first : first + _BATCH]
        for doc, masked in zip(batch, deidentifier.mask_many(batch), strict=True):
            tokens, decisions = masked.tokens, masked.decisions
            is_name = np.zeros(len(tokens), np.bool_)
            for span in doc.spans:
                is_name |= (tokens.starts < span.end) & (tokens.ends > span.start)
            labels = [_CLASSES[int(number)] for number in decisions.categories]
            yield MaskedWords(tokens.words, is_name, ~np.asarray(decisions.keep), labels)


def group_names(docs: Iterable[Document]) -> list[list[tuple[str, ...]]]:
    """Return the groups of each name token, by document.

    A name may be of several groups: its length, a word of common English, an initial, in lower case, at the
    beginning of a sentence, and whose name it is.
    """
    lexicon, found = load_lexicon(), []
    for doc in docs:
        names: list[tuple[str, ...]] = []
        for span in doc.spans:
            at_beginning = bool(_BEGINNING.search(doc.text[: span.start]))
            for word in tokenize(doc.text[span.start : span.end]).words:
                groups = ["more than three letters" if len(word) >= FEWEST_LONG else "up to three letters"]
                groups += ["an initial"] if len(word) == 1 else []
                is_word = len(word) > 1 and lexicon.flags(word) & WordFlag.COMMON_ENGLISH
                groups += ["an English word"] if is_word else []
                groups += ["lower case"] if word.islower() else []
                groups += ["beginning of a sentence"] if at_beginning else []
                names.append((*groups, _PEOPLE[span.type]))
        found.append(names)
    return found


def count(
    masked: Sequence[MaskedWords], groups: Sequence[Sequence[tuple[str, ...]]], *, only_names: bool
) -> dict[str, tuple[int, int]]:
    """Count part and whole of every figure.

    Args:
        masked: Narratives.
        groups: Groups of each name token, by narrative.
        only_names: Count only masks that are labelled NAME.
    """
    part: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for words, names in zip(masked, groups, strict=True):
        hits = words.is_masked.copy()
        if only_names:
            hits &= np.array([label is HyperClass.NAME for label in words.labels], np.bool_)
        is_long = np.array([len(word) >= FEWEST_LONG for word in words.words], np.bool_)
        for title, chosen in (("", hits | True), (", long", is_long), (", short", ~is_long)):
            part[f"precision{title}"] += int((hits & words.is_name & chosen).sum())
            whole[f"precision{title}"] += int((hits & chosen).sum())
        part["false positives"] += int((hits & ~words.is_name).sum())
        whole["false positives"] += int((~words.is_name).sum())
        for label in HyperClass:
            part[f"false positives: {label}"] += sum(
                one is label for one, hit in zip(words.labels, hits & ~words.is_name, strict=True) if hit
            )
            whole[f"false positives: {label}"] += int((~words.is_name).sum())
        if names:
            found = hits[words.is_name].tolist()
            for hit, of in zip(found, names, strict=True):
                for group in ("all", *of):
                    part[f"recall: {group}"] += hit
                    whole[f"recall: {group}"] += 1
            part["narratives with a miss"] += not all(found)
            whole["narratives with a miss"] += 1
    return {group: (part[group], n) for group, n in whole.items()}


Figures = dict[Key, tuple[int, int]]


def measure(
    docs: Sequence[Document], build: Callable[[MaskingSettings], Deidentifier] = build_deidentifier
) -> Figures:
    """Mask the documents with every reader and choice of categories, and count."""
    groups, figures = group_names(docs), {}
    for reader in READERS:
        for categories in CHOICES:
            settings = MaskingSettings(reading=reader, categories=parse_categories(categories), n_threads=1)
            masked = list(mask(build(settings), docs))
            for masks in MASKS:
                counted = count(masked, groups, only_names=masks != "all masks")
                figures |= {(reader, categories, masks, group): pair for group, pair in counted.items()}
    return figures


def _cells(part: int, whole: int) -> tuple[str, ...]:
    """Return share, part, whole and interval."""
    interval = clopper_pearson(part, whole) if whole else None
    return (*share_cells(Share(part, whole)), format_interval(interval))


_HEAD = ("", "share", "part", "of", "95 % interval")


def _table(figures: Figures, rows: Iterable[tuple[str, Key]]) -> list[str]:
    """Return a table of shares with their intervals."""
    return markdown_lines(_HEAD, [(title, *_cells(*figures[key])) for title, key in rows])


def _published_table(figures: Figures) -> list[str]:
    """Return each published figure above ours of the same kind, for names alone, labelled NAME."""
    rows = []
    for group, (title, pair) in PUBLISHED.items():
        rows.append((f"{title}: published", *_cells(*pair)))
        ours = [(reader, figures.get((reader, CHOICES[0], MASKS[0], group), (0, 0))) for reader in READERS]
        rows += [(f"{title}: {reader}", *_cells(*found)) for reader, found in ours]
    return markdown_lines(_HEAD, rows)


def _views() -> list[tuple[str, str, str, str]]:
    """Return title, reader, categories and masks of every view."""
    return [
        (f"{reader}, `--categories {categories}`, {masks}", reader, categories, masks)
        for categories in CHOICES
        for masks in MASKS
        for reader in READERS
    ]


def render_report(figures: Figures, command: str, models: str, n_tokens: int, n_seconds: float) -> str:
    """Return the report as Markdown."""
    names_only = [view for view in _views() if view[2:] != ("all", "all masks")]
    main = (CHOICES[0], MASKS[0])
    groups = list(dict.fromkeys(key[3] for key in figures if key[3].startswith("recall: ")))
    lines = [
        "# Names planted in public narratives\n",
        f"Made by\n\n```\n{command}\n```\n",
        f"- revision {revision() or 'unknown'}",
        f"- {models}, balanced",
        f"- {N_NARRATIVES:,} narratives of VAERS, drawn with the seed {SEED}, {n_tokens:,} tokens",
        f"- names were planted one by one in {N_CARRIERS} of them (`scripts/held_out_names.py`)",
        "- never trained or calibrated on",
        "- units are tokens, intervals Clopper and Pearson's; tokens of one narrative are not independent",
        "- a search for titles and for listed names that are not words found no name in the narratives",
        "  themselves; eponyms and brands are not names",
        f"- computing time: {n_seconds / 60:.0f} minutes for both readers and both choices of categories",
        "\n## Beside the published figures\n",
        "Meldau et al. (BMC Medical Informatics and Decision Making 24:401, 2024) measured a BERT model on",
        "5,042 other narratives (Yellow Card, 263,451 tokens) with 179 name tokens in 71 of them. Those",
        "names are real, ours are planted and more than twice as frequent. Precision depends on how",
        "frequent names are, so it is not comparable. Their precision of tokens of more than three letters",
        "was 58 %. Ours are for `--categories name`, labelled NAME.\n",
        *_published_table(figures),
        "\n## Recall\n",
        *_table(figures, [(title, (*view, "recall: all")) for title, *view in _views()]),
        "\n## Precision\n",
        "Masks of all categories are not counted here, since dates and ages are identifiers as well.\n",
        *_table(figures, [(title, (*view, "precision")) for title, *view in names_only]),
        "\n## False positives of all tokens that are not names\n",
        *_table(figures, [(title, (*view, "false positives")) for title, *view in names_only]),
        "\n## Narratives with a miss, of those with names\n",
        *_table(figures, [(title, (*view, "narratives with a miss")) for title, *view in _views()]),
    ]
    for reader in READERS:
        lines += [f"\n## Groups of names, {reader}, `--categories name`, labelled NAME\n"]
        rows = [(group.removeprefix("recall: "), (reader, *main, group)) for group in groups]
        lines += _table(figures, rows)
        lines += ["\nPrecision by length:\n"]
        lengths = {"more than three letters": "precision, long", "up to three letters": "precision, short"}
        lines += _table(figures, [(title, (reader, *main, group)) for title, group in lengths.items()])
        for categories in CHOICES:
            lines += [f"\nFalse positives by label, `--categories {categories}`, all masks:\n"]
            if categories == "all":
                lines += ["Dates, ages and places are counted here, though they are identifiers.\n"]
            view = (reader, categories, "all masks")
            labels = [f"false positives: {label}" for label in HyperClass]
            rows = [
                (label.partition(": ")[2], (*view, label)) for label in labels if figures[*view, label][0]
            ]
            lines += _table(figures, rows)
    return "\n".join(lines) + "\n"


def write_csv(path: Path, figures: Figures) -> None:
    """Write a row for every figure."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for key, (part, whole) in figures.items():
            interval = clopper_pearson(part, whole) if whole else None
            bounds = (f"{interval.low:.6f}", f"{interval.high:.6f}") if interval else ("", "")
            writer.writerow((*key, part, whole, *bounds))


def describe_models() -> str:
    """Name the packaged network and the second reader by their fingerprints."""
    network, second = model_fingerprint(packaged_model()), model_fingerprint(packaged_second_reader())
    return f"model {network[:12]}; *careful* asks the second reader {second[:12]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("narratives", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reports/planted-names"))
    options = parser.parse_args()
    require_clean_revision(options.out)
    docs = build_documents(read_narratives(options.narratives))
    start = time.perf_counter()
    figures = measure(docs)
    n_seconds = time.perf_counter() - start
    n_tokens = sum(len(tokenize(doc.text)) for doc in docs)
    command = " ".join(["python scripts/report_planted_names.py", "NARRATIVES.jsonl", *sys.argv[2:]])
    options.out.mkdir(parents=True, exist_ok=True)
    report = render_report(figures, command, describe_models(), n_tokens, n_seconds)
    (options.out / "report.md").write_text(report, encoding="utf-8")
    write_csv(options.out / "planted-names.csv", figures)


if __name__ == "__main__":
    main()
