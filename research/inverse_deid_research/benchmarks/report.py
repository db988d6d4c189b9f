"""Run the masker on open benchmarks and write figures and report.

::

    report.md      provenance, the three figures of each set, what others report
    figures.csv    every figure with its counts and bounds, nothing rounded
"""

from __future__ import annotations

import csv
import importlib.resources
import io
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from inverse_deid.choices.categories import parse_categories, permits_years
from inverse_deid.choices.table import ReadingMode
from inverse_deid.core.values import Document
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.plain_text import format_share, markdown_lines
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid_research.benchmarks.scorer import FIGURES, Figure, Range, count_characters, score
from inverse_deid_research.benchmarks.sets import BENCHMARKS, BenchmarkTexts
from inverse_deid_research.comparison.ready_systems import Packaged

READINGS: tuple[ReadingMode, ...] = get_args(ReadingMode)
CHARACTERS: dict[str, dict[str, bool]] = {
    "letters and digits": {},
    "letters and digits, titles left out": {"titles": False},
    "all characters": {"every": True},
}
"""Which characters are counted, and how the scorer is told so."""
ENGLISH_ONLY = "The product is English only as yet."
_COLUMNS = (
    *("set", "language", "categories", "reading", "characters", "figure", "part", "of", "share"),
    *("low", "high", "documents", "seconds"),
)
_N_TYPES_SHOWN = 30

Mask = Callable[[MaskingSettings, Sequence[Document]], list[list[Range]]]
"""Settings and documents to the masks of each."""


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """The figures of one set with one choice of categories and one reading."""

    name: str
    categories: str
    reading: ReadingMode
    figures: dict[str, dict[str, Figure]] = field(repr=False)  # by which characters are counted
    n_docs: int
    n_seconds: float


def mask_with_product(settings: MaskingSettings, docs: Sequence[Document]) -> list[list[Range]]:
    """Return the masks that the command `mask` writes with these settings.

    Raises:
        StageError: A document was masked whole because a stage failed.
    """
    return Packaged("inverse-deid", "inverse-deid", "", settings).masks(docs)


def run_benchmark(
    texts: BenchmarkTexts,
    readings: Sequence[ReadingMode],
    seed: int,
    mask: Mask = mask_with_product,
    progress: Callable[[str], None] = lambda line: None,
) -> Iterator[BenchmarkRun]:
    """Mask a set with every choice of categories that it has and each reading, and yield the figures."""
    docs = [Document(doc.id, doc.text) for doc in texts.docs]
    for categories in BENCHMARKS[texts.name].categories:
        chosen = parse_categories(categories)
        for reading in readings:
            settings = MaskingSettings(
                reading=reading, categories=chosen, keep_years=permits_years(chosen), n_threads=1
            )
            progress(f"{texts.name}: {len(docs):,} documents, {categories}, {reading}")
            start = time.perf_counter()
            masks = mask(settings, docs)
            n_seconds = time.perf_counter() - start
            figures = {}
            for characters, rule in CHARACTERS.items():
                if "titles" in rule and not any(doc.titles for doc in texts.docs):
                    continue
                pairs = zip(texts.docs, masks, strict=True)
                counts = [count_characters(doc, ranges, **rule) for doc, ranges in pairs]
                figures[characters] = score(counts, seed)
            yield BenchmarkRun(texts.name, categories, reading, figures, len(docs), n_seconds)


def render_csv(runs: Sequence[BenchmarkRun]) -> str:
    """Return every figure as CSV; an undefined share or bound is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for run in runs:
        for characters, figures in run.figures.items():
            for name, one in figures.items():
                head = (
                    run.name,
                    BENCHMARKS[run.name].language,
                    run.categories,
                    run.reading,
                    characters,
                    name,
                )
                bounds = (one.part, one.whole, one.share, one.low, one.high)
                writer.writerow((*head, *bounds, run.n_docs, round(run.n_seconds, 1)))
    return file.getvalue()


def render_sections(runs: Sequence[BenchmarkRun], texts: Sequence[BenchmarkTexts]) -> list[str]:
    """Return the sections of the sets as Markdown."""
    published = read_texts()
    return [
        line for one in texts for line in _section(one, [r for r in runs if r.name == one.name], published)
    ]


def read_texts() -> dict[str, Any]:
    """Return the texts of the report, with what others report, by set."""
    text = (importlib.resources.files(__package__ or "") / "report.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _section(texts: BenchmarkTexts, runs: Sequence[BenchmarkRun], published: dict[str, Any]) -> list[str]:
    about = BENCHMARKS[texts.name]
    n_marked = sum(1 for doc in texts.docs if doc.spans)
    lines = [
        f"## {about.title}",
        "",
        f"{about.language}, {about.licence}: {len(texts.docs):,} documents, {n_marked:,} with identifiers.",
    ]
    if about.language != "English":
        lines += ["", ENGLISH_ONLY]
    if texts.n_unplaced:
        lines += ["", f"Marked values that are not in their text, and are not counted: {texts.n_unplaced}."]
    words, untitled, every = CHARACTERS
    rows = [_row(run, words, f"{run.n_seconds:,.0f}") for run in runs]
    rows += [_row(run, untitled, "-") for run in runs if untitled in run.figures]
    listed = published.get(texts.name, {}).get("systems", [])
    rows += [
        (f"{one['system']} (published)", *(f"{share:.2f} %" for share in one["figures"]), "-")
        for one in listed
    ]
    lines += ["", *markdown_lines(("", *FIGURES, "seconds"), rows), ""]
    rules = dict.fromkeys(one["rule"] for one in listed)
    for note in (*(published["rules"][rule] for rule in rules), *published["notes"].get(texts.name, ())):
        lines += [note.strip(), ""]
    everything = [_row(run, every) for run in runs]
    lines += [
        "All characters, spaces and signs included:",
        "",
        *markdown_lines(("", *FIGURES), everything),
        "",
    ]
    lines += [f"Identifying characters masked by type, `{about.categories[0]}`:", ""]
    chosen = [run for run in runs if run.categories == about.categories[0]]
    names = [name for name in chosen[0].figures[words] if name not in FIGURES][:_N_TYPES_SHOWN]
    by_type = [
        (
            name,
            f"{chosen[0].figures[words][name].whole:,}",
            *(_cell(run.figures[words][name]) for run in chosen),
        )
        for name in names
    ]
    return [*lines, *markdown_lines(("type", "characters", *(run.reading for run in chosen)), by_type), ""]


def _row(run: BenchmarkRun, characters: str, *more: str) -> tuple[str, ...]:
    title = f"{run.reading}, `{run.categories}`" + ", titles left out" * ("titles" in CHARACTERS[characters])
    return (title, *(_cell(run.figures[characters][name]) for name in FIGURES), *more)


def _cell(figure: Figure) -> str:
    share = format_share(Share(figure.part, figure.whole))
    if figure.low is None or figure.high is None:
        return share
    return f"{share} ({100 * figure.low:.2f} to {100 * figure.high:.2f})"
