"""Annotated documents of released cases, for training and for other tools; and corrections back in.

They hold the ORIGINAL text with what the reviewers masked as spans: keep them as safe as the originals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select

from inverse_deid.core.errors import AnnotationError, OutputExistsError, ReviewError
from inverse_deid.core.files import PartialFile
from inverse_deid.core.values import Document
from inverse_deid.formats.brat import brat_annotations, brat_text, read_gold_brat
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.json_lines import gold_json_line
from inverse_deid.formats.registry import input_errors
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.editing import take_steps
from inverse_deid.review.exporting import Exported
from inverse_deid.review.final import final_spans, final_tokens
from inverse_deid.review.layers import Step, after_steps, changed_tokens, runs_of
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CATEGORIES, CaseState, Edited, LayerTokens, Part, Place
from inverse_deid.text.alignment import span_of_token
from inverse_deid.training.corpus import read_annotated

_MAX_STEM_CHARS = 100


class AnnotationFormat(StrEnum):
    """How annotated documents are written."""

    JSON_LINES = "jsonl"
    I2B2 = "i2b2"
    BRAT = "brat"


def annotated_documents(store: ReviewStore) -> Iterator[Document]:
    """The original texts of all released cases with what the reviewers masked as spans, case by case.

    Raises:
        ReviewError: A released case is not decided as a whole; it does not leave.
    """
    with store.reading() as connection:
        found = select(CASES).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
        cases = connection.execute(found).all()
        for case in cases:
            content = read_content(connection, case.id, store.sealer)
            final = final_tokens(connection, store, case.id, content)
            for part in content.parts:
                text = content.text[part.start : part.end]
                yield Document(document_id(case, content, part), text, final_spans(content, final, part))


def document_id(case: Row[Any], content: CaseContent, part: Part) -> str:
    """What a text of a case is called among annotated documents."""
    return str(case.name) if len(content.parts) == 1 else f"{case.name} {part.name}"


def export_annotated(
    store: ReviewStore, path: Path, form: AnnotationFormat, *, force: bool = False, by: str = "command"
) -> Exported:
    """Write `annotated_documents`: one JSON Lines file, or a folder of XML or brat files (mode 600).

    `inverse-deid fine-tune --gold` reads the first two as they are.

    Args:
        store: The store.
        path: File or folder.
        form: How they are written.
        force: Overwrite what is there.
        by: Who exports, for the trail.

    Raises:
        OutputExistsError: The file is there, or the folder is not empty, and `force` is False.
        OutputError: It cannot be written.
        AnnotationError: A text holds what XML cannot hold.
    """
    is_file = form is AnnotationFormat.JSON_LINES
    if path.exists() and not force and (is_file or any(path.iterdir())):
        raise OutputExistsError(f"{path} exists already; give --force to write there all the same")
    docs = annotated_documents(store)
    files = [_write_lines(path, docs)] if is_file else list(_write_folder(path, docs, form))
    with store.writing() as connection:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in connection.execute(found)}
        n_cases = counts.pop(CaseState.RELEASED.value, 0)
        event = f"annotated documents exported: {n_cases} cases"
        append(connection, store, [TrailEvent(user=by, event=event)])
    return Exported(n_cases, sum(counts.values()), (), tuple(files))


def _write_lines(path: Path, docs: Iterator[Document]) -> Path:
    file, is_complete = PartialFile(path, private=True), False
    try:
        for doc in docs:
            file.write(gold_json_line(doc))
        file.sync()
        is_complete = True
    finally:
        file.commit() if is_complete else file.discard()
    return path


def _write_folder(folder: Path, docs: Iterator[Document], form: AnnotationFormat) -> Iterator[Path]:
    taken: Counter[str] = Counter()
    for doc in docs:
        stem = _stem(doc.id, taken)
        files = (
            {f"{stem}.xml": gold_i2b2_xml(doc)}
            if form is AnnotationFormat.I2B2
            else {f"{stem}.txt": brat_text(doc), f"{stem}.ann": brat_annotations(doc)}
        )
        for name, data in files.items():
            file = PartialFile(folder / name, private=True)
            try:
                file.write(data)
                file.sync()
            except BaseException:
                file.discard()
                raise
            file.commit()
            yield folder / name


def _stem(doc_id: str, taken: Counter[str]) -> str:
    """A file name for an id: no folder, no dot at its beginning, none twice."""
    plain = re.sub(r"[^\w.-]+", "_", doc_id).removesuffix(".xml").removesuffix(".txt").lstrip(".")
    stem = plain[:_MAX_STEM_CHARS] or "case"
    taken[stem.casefold()] += 1
    n = taken[stem.casefold()]
    return stem if n == 1 else f"{stem}__{n}"


def read_annotations(path: Path) -> list[Document]:
    """Read what `export_annotated` wrote, or another tool corrected: JSON Lines, i2b2 XML or brat.

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


def adopt_annotations(store: ReviewStore, place: Place, doc: Document) -> Edited:
    """Take over the spans of an annotated document (corrected elsewhere) as one action in the user's layer.

    Raises:
        ReviewError: No text of the case is that of the document, or nothing changes; also fails as `act`.
    """
    return take_steps(store, place, lambda content, now: _adopted(content, now, doc))


def _adopted(content: CaseContent, now: LayerTokens, doc: Document) -> list[Step]:
    """The steps that lead from a layer to the spans of a document."""
    part = next((p for p in content.parts if content.text[p.start : p.end] == doc.text), None)
    if part is None:
        raise ReviewError("the annotated document has another text than the case; nothing was taken over")
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    spans = [type(span)(span.start + part.start, span.end + part.start, span.type) for span in doc.spans]
    owners = span_of_token(content.tokens, spans)
    keep, categories = now.keep.copy(), now.categories.copy()
    keep[first:stop] = owners[first:stop] < 0
    for token in (np.flatnonzero(owners[first:stop] >= 0) + first).tolist():
        categories[token] = CATEGORIES.index(spans[owners[token]].type)
    wanted = after_steps(LayerTokens(keep, categories, np.ones(len(keep), np.bool_)), ())
    return [
        (run.first, run.stop, bool(keep[run.first]), int(categories[run.first]))
        for run in runs_of(changed_tokens(now, wanted), keep, categories)
    ]


def cases_named(store: ReviewStore) -> dict[str, list[int]]:
    """The numbers of all cases by their ids."""
    with store.reading() as connection:
        return _by_name(connection)


def _by_name(connection: Connection) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in connection.execute(select(CASES.c.name, CASES.c.id).order_by(CASES.c.id)):
        found.setdefault(row.name, []).append(row.id)
    return found
