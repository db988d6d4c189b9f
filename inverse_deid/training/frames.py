"""Annotated documents and held-out figures as pandas data frames, for notebooks (docs/python.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from inverse_deid.core.errors import AnnotationError, ConfigurationError, name_documents
from inverse_deid.core.files import write_whole
from inverse_deid.core.phi import OUR_TYPES, TypeMapping
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.core.wording import _
from inverse_deid.formats.tables.json_lines import gold_json_line

_DOCUMENTS, _SPANS = ("id", "text"), ("id", "start", "end", "type")


class GoldFrames(NamedTuple):
    """Annotated documents: `documents` has the columns id and text, `spans` id, start, end and type.

    Offsets count code points, and the end is not part of the span. The frames themselves show texts.
    """

    documents: pd.DataFrame
    spans: pd.DataFrame

    def __repr__(self) -> str:
        return f"GoldFrames(n_documents={len(self.documents)}, n_spans={len(self.spans)})"


def frames_from_documents(docs: Iterable[Document]) -> GoldFrames:
    """Return annotated documents as data frames.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> doc = Document("a", "Mr Li left", (PhiSpan(3, 5, PhiType.PATIENT),))
        >>> frames_from_documents([doc]).spans.to_dict("records")
        [{'id': 'a', 'start': 3, 'end': 5, 'type': 'PATIENT'}]
    """
    docs = list(docs)
    rows = [(doc.id, span.start, span.end, span.type.value) for doc in docs for span in doc.spans]
    return GoldFrames(
        pd.DataFrame([(doc.id, doc.text) for doc in docs], columns=list(_DOCUMENTS)),
        pd.DataFrame(rows, columns=list(_SPANS)).astype({"start": "int64", "end": "int64"}),
    )


def documents_from_frames(frames: GoldFrames, types: TypeMapping = OUR_TYPES) -> list[Document]:
    """Return the documents of data frames. `types` maps the types of another scheme.

    Raises:
        ConfigurationError: A column is missing.
        AnnotationError: A span has no document, an unknown type, or offsets that do not fit.

    Example:
        >>> texts = pd.DataFrame({"id": ["a"], "text": ["Mr Li left"]})
        >>> spans = pd.DataFrame({"id": ["a"], "start": [3], "end": [5], "type": ["PATIENT"]})
        >>> documents_from_frames(GoldFrames(texts, spans))[0].spans
        (PhiSpan(start=3, end=5, type=<PhiType.PATIENT: 'PATIENT'>),)
    """
    for name, frame, columns in (
        ("documents", frames.documents, _DOCUMENTS),
        ("spans", frames.spans, _SPANS),
    ):
        if missing := [column for column in columns if column not in frame.columns]:
            raise ConfigurationError(
                _("{name}: no column named {missing}. Add it", name=name, missing=", ".join(missing))
            )
    rows: list[Any] = frames.documents[list(_DOCUMENTS)].to_numpy(object).tolist()
    if missing_texts := [str(doc_id) for doc_id, text in rows if not isinstance(text, str)]:
        raise AnnotationError(
            _("{documents}: the text is missing or not a string", documents=name_documents(missing_texts))
        )
    texts = {str(doc_id): text for doc_id, text in rows}
    if len(texts) != len(frames.documents):
        raise AnnotationError(_("documents: an id occurs more than once. Give every document its own id"))
    of_document: dict[str, list[PhiSpan]] = {doc_id: [] for doc_id in texts}
    rows = frames.spans[list(_SPANS)].to_numpy(object).tolist()
    for named, start, end, type_name in rows:
        doc_id, kind = str(named), types.get(str(type_name))
        where = f"document {doc_id}: span {start}-{end}"
        if doc_id not in of_document:
            raise AnnotationError(
                _("{where}: there is no such document. Remove the span or add the document", where=where)
            )
        if kind is None:
            raise AnnotationError(
                _(
                    "{where}: unknown type. Choose from {our_types}",
                    where=where,
                    our_types=", ".join(OUR_TYPES),
                )
            )
        of_document[doc_id].append(PhiSpan(int(start), int(end), kind))
    return [
        Document(doc_id, text, tuple(sorted(of_document[doc_id], key=lambda span: span.start)))
        for doc_id, text in texts.items()
    ]


def write_gold(frames: GoldFrames, path: Path) -> None:
    """Write data frames as a JSON Lines file, for `RunConfig.gold` and the commands.

    Raises:
        ConfigurationError: A column is missing.
        AnnotationError: Spans do not fit the documents.
        OutputError: The file cannot be written.
    """
    write_whole(path, map(gold_json_line, documents_from_frames(frames)))


def figures_frame(provenance: Mapping[str, Any]) -> pd.DataFrame:
    """Return the held-out figures of a training: what `train` returns, or `read_model(...).provenance`.

    The columns are corpus, operating_point, recall and precision, after fine-tuning also recall_before and
    precision_before. An undefined figure is missing.

    Example:
        >>> figures = {"mine": {"strict": {"recall": 1.0, "precision": None}}}
        >>> figures_frame({"held_out": figures}).to_dict("records")
        [{'corpus': 'mine', 'operating_point': 'strict', 'recall': 1.0, 'precision': nan}]
    """
    before = provenance.get("held_out_before") or {}
    rows = []
    for corpus, points in provenance.get("held_out", {}).items():
        for point, figures in points.items():
            row = {"corpus": corpus, "operating_point": point, **_of(figures)}
            earlier = before.get(corpus, {}).get(point)
            rows.append({**row, **{f"{name}_before": value for name, value in _of(earlier or {}).items()}})
    return pd.DataFrame(rows)


def _of(figures: Mapping[str, float | None]) -> dict[str, float]:
    names = [name for name in ("recall", "precision") if name in figures]
    return {name: float("nan") if (value := figures[name]) is None else value for name in names}
