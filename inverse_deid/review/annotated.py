"""Annotated documents of released cases, for training and for other tools, and corrections to them.

They contain the ORIGINAL text with the masks of the reviewers as spans: keep them as safe as the originals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from inverse_deid.core.errors import AnnotationError, OutputExistsError, ReviewError
from inverse_deid.core.files import write_whole
from inverse_deid.core.values import Document
from inverse_deid.formats.brat import brat_annotations, brat_text, read_gold_brat
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.json_lines import gold_json_line
from inverse_deid.formats.registry import input_errors
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.editing import take_steps
from inverse_deid.review.exporting import Exported
from inverse_deid.review.layers import Step, apply_steps, find_changes, find_runs, find_spans, read_final
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CATEGORIES, CaseState, Edited, LayerRevision, LayerTokens
from inverse_deid.text.tokenizer import span_of_token
from inverse_deid.training.corpus import read_annotated

_MAX_STEM_CHARS = 100


class AnnotationFormat(StrEnum):
    """File formats of annotated documents."""

    JSON_LINES = "jsonl"
    I2B2 = "i2b2"
    BRAT = "brat"


def iterate_annotated(store: ReviewStore) -> Iterator[Document]:
    """Yield the original texts of all released cases, with the masks of the reviewers as spans.

    Raises:
        ReviewError: A released case has an undecided token; it is not yielded.
    """
    with store.reading() as connection:
        found = select(CASES).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
        for case in connection.execute(found).all():
            content = read_content(connection, case.id, store.sealer)
            final = read_final(connection, store, case.id, content)
            for part in content.parts:
                text = content.text[part.start : part.end]
                doc_id = case.name if len(content.parts) == 1 else f"{case.name} {part.name}"
                yield Document(doc_id, text, find_spans(content, final, part))


def export_annotated(
    store: ReviewStore, path: Path, form: AnnotationFormat, *, force: bool = False, by: str = "command"
) -> Exported:
    """Write all released cases with spans: one JSON Lines file, or a folder of XML or brat files (mode 600).

    `inverse-deid fine-tune --gold` reads the first two.

    Raises:
        OutputExistsError: The file exists, or the folder is not empty, and `force` is False.
        OutputError: It cannot be written.
        AnnotationError: A text contains characters that XML cannot contain.
    """
    is_file = form is AnnotationFormat.JSON_LINES
    if path.exists() and not force and (is_file or any(path.iterdir())):
        raise OutputExistsError(f"{path} already exists. Use --force to overwrite it.")
    docs = iterate_annotated(store)
    if is_file:
        write_whole(path, map(gold_json_line, docs), private=True)
    files = [path] if is_file else list(_write_folder(path, docs, form))
    with store.writing() as connection:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in connection.execute(found)}
        n_cases = counts.pop(CaseState.RELEASED.value, 0)
        event = f"annotated documents exported: {n_cases} cases"
        append(connection, store, [TrailEvent(user=by, event=event)])
    return Exported(n_cases, sum(counts.values()), (), tuple(files))


def _write_folder(folder: Path, docs: Iterator[Document], form: AnnotationFormat) -> Iterator[Path]:
    taken: Counter[str] = Counter()
    for doc in docs:
        stem = _make_stem(doc.id, taken)
        files = (
            {f"{stem}.xml": gold_i2b2_xml(doc)}
            if form is AnnotationFormat.I2B2
            else {f"{stem}.txt": brat_text(doc), f"{stem}.ann": brat_annotations(doc)}
        )
        for name, data in files.items():
            write_whole(folder / name, [data], private=True)
            yield folder / name


def _make_stem(doc_id: str, taken: Counter[str]) -> str:
    """Return a file name for an id: without folders, not beginning with a dot, and unique."""
    plain = re.sub(r"[^\w.-]+", "_", doc_id).removesuffix(".xml").removesuffix(".txt").lstrip(".")
    stem = plain[:_MAX_STEM_CHARS] or "case"
    taken[stem.casefold()] += 1
    n = taken[stem.casefold()]
    return stem if n == 1 else f"{stem}__{n}"


def read_annotations(path: Path) -> list[Document]:
    """Read files of `export_annotated` or corrected by another tool: JSON Lines, i2b2 XML or brat.

    Raises:
        InputError: Names the file and the remedy.
    """
    pairs = sorted(path.glob("*.ann")) if path.is_dir() else []
    if not pairs:
        return read_annotated(path)
    docs = []
    for pair in pairs:
        try:
            with input_errors():
                text = pair.with_suffix(".txt").read_bytes()
                docs.append(read_gold_brat(text, pair.read_bytes(), pair.stem))
        except AnnotationError as error:
            raise AnnotationError(f"{path}: {error}") from None
    return docs


def adopt_annotations(store: ReviewStore, at: LayerRevision, doc: Document) -> Edited:
    """Apply the spans of an annotated document (corrected elsewhere) as one action in the user's layer.

    Raises:
        ReviewError: The case has another text than the document, or nothing changes; also fails as `act`.
    """
    return take_steps(store, at, lambda content, now: _plan_steps(content, now, doc))


def _plan_steps(content: CaseContent, now: LayerTokens, doc: Document) -> list[Step]:
    """Return the steps from a layer to the spans of a document."""
    part = next((p for p in content.parts if content.text[p.start : p.end] == doc.text), None)
    if part is None:
        raise ReviewError("the annotated document has another text than the case, so nothing was imported")
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    spans = [type(span)(span.start + part.start, span.end + part.start, span.type) for span in doc.spans]
    owners = span_of_token(content.tokens, spans)
    keep, categories = now.keep.copy(), now.categories.copy()
    keep[first:stop] = owners[first:stop] < 0
    for token in (np.flatnonzero(owners[first:stop] >= 0) + first).tolist():
        categories[token] = CATEGORIES.index(spans[owners[token]].type)
    wanted = apply_steps(LayerTokens(keep, categories, np.ones(len(keep), np.bool_)), ())
    return [
        (run.first, run.stop, bool(keep[run.first]), int(categories[run.first]))
        for run in find_runs(find_changes(now, wanted), keep, categories)
    ]


def list_numbers(store: ReviewStore) -> dict[str, list[int]]:
    """Return the numbers of all cases by their ids."""
    found: dict[str, list[int]] = {}
    with store.reading() as connection:
        for row in connection.execute(select(CASES.c.name, CASES.c.id).order_by(CASES.c.id)):
            found.setdefault(row.name, []).append(row.id)
    return found
