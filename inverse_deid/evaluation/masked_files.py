"""The files that `mask --offsets`, `--annotations` and `--explain --with-text` wrote.

Explanations give `p_safe` with seven decimals, as many as single precision distinguishes near 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from inverse_deid.core.errors import AnnotationError, FormatError, Remedy, name_documents
from inverse_deid.core.values import BoolArray, Document, Reason, show_name
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.evaluation import find_repeated
from inverse_deid.evaluation.measures.counts import Int64Array, Range, check_masks, find_gold_tokens
from inverse_deid.evaluation.measures.figures import Proportion
from inverse_deid.evaluation.measures.uncertainty import Float64Array
from inverse_deid.evaluation.provenance import list_visible, name_files
from inverse_deid.formats.i2b2_xml import read_gold_i2b2_xml
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import format_of, input_errors, open_input
from inverse_deid.formats.tables.json_lines import number_lines
from inverse_deid.formats.tables.strict_json import parse_json
from inverse_deid.text.tokenizer import tokenize

_EXPLANATION_SUFFIX = ".explain.jsonl"
_KEYS_WITHOUT_TEXT = frozenset({"id", "failed", "words"})
_EXPLAIN_AGAIN = Remedy(
    "explain", also=("with_text",), step=N_("give the output of `inverse-deid mask` with {}")
)
_MASK_AGAIN = Remedy("offsets", step=N_("give the output of `inverse-deid mask` with {}"))
_REASONS = frozenset(reason.name for reason in Reason)


@dataclass(frozen=True, slots=True)
class MaskedOutput:
    """The masks of one document, as ranges of the original text that were not yet compared with it."""

    id: str
    masks: tuple[Range, ...] = field(repr=False)
    # Masked or original, None = the file does not contain it.
    text: str | None = field(default=None, repr=False)


def read_masked(path: Path) -> list[MaskedOutput]:
    """Read the masks of a file or folder. In a folder, hidden files and explanations are ignored.

    Files, which may be gzipped, are JSON Lines of `{"id", "masks"}` and, to check them, `"text"`, or XML as
    `inverse-deid mask --annotations` writes it, where the file name is the id.

    Raises:
        InputError: Names the file, the line and the remedy.
    """
    files = [path]
    if path.is_dir():
        files = [
            file
            for file in list_visible(path)
            if not file.name.endswith(_EXPLANATION_SUFFIX)
            and (kind := _find_format(file)) is not None
            and (kind.has_offsets or kind.has_annotations)
        ]
    outputs = [output for file in files for output in _read_masked_file(file)]
    if not outputs:
        raise FormatError(
            _("{path}: no masks found", path=path),
            remedies=[_MASK_AGAIN, Remedy("annotations", step=N_("for i2b2 XML give the folder of {}"))],
        )
    return outputs


def _find_format(path: Path) -> Format | None:
    try:
        return format_of(path)
    except FormatError:
        return None


def _read_masked_file(path: Path) -> list[MaskedOutput]:
    with name_files(path), input_errors(), open_input(path) as stream:
        kind = _find_format(path)
        if kind is not None and kind.has_annotations:
            doc = read_gold_i2b2_xml(stream, path.name.removesuffix(".gz"))
            return [MaskedOutput(doc.id, tuple((s.start, s.end) for s in doc.spans), doc.text)]
        return [_parse_masks(number, line) for number, line in number_lines(stream)]


class _MaskedLine(msgspec.Struct, frozen=True):
    """A line without an id is known by its number."""

    masks: list[tuple[int, int]]
    id: str | int | None = None
    text: str | None = None

    __repr__ = show_name


def _parse_masks(number: int, line: bytes) -> MaskedOutput:
    parsed = _parse_object(line)
    if parsed is None:
        raise FormatError(_("line {number} is not a JSON object. Give JSON Lines with masks", number=number))
    if "masks" not in parsed:
        again = Remedy("offsets", step=N_("mask again with {}"))
        raise FormatError(_('line {number} has no "masks"', number=number), remedies=[again])
    found: _MaskedLine | None = None
    with suppress(msgspec.ValidationError):
        found = msgspec.convert({"id": number} | parsed, _MaskedLine)
    if found is None or found.id is None:
        raise FormatError(
            _(
                'line {number} is not {{"id", "masks": [[start, end], ...], "text"}} with whole numbers',
                number=number,
            ),
            remedies=[_MASK_AGAIN],
        )
    return MaskedOutput(str(found.id), tuple(found.masks), found.text)


def _parse_object(line: bytes) -> dict[str, Any] | None:
    parsed: object = None
    with suppress(ValueError, RecursionError):
        parsed = parse_json(line)
    return parsed if isinstance(parsed, dict) else None


def masks_by_id(gold: Sequence[Document], outputs: Sequence[MaskedOutput]) -> dict[str, tuple[Range, ...]]:
    """Return the masks of each document. Where an output has its text, compare it with the gold text.

    Raises:
        AnnotationError: An id is masked twice, or masks or text do not fit the gold.
    """
    if twice := find_repeated(output.id for output in outputs):
        raise AnnotationError(
            _("masked more than once: {documents}. Give every document once", documents=name_documents(twice))
        )
    docs = {doc.id: doc for doc in gold}
    strange: list[str] = []
    for output in outputs:
        doc = docs.get(output.id)
        if doc is None:
            continue
        check_masks(doc, output.masks)
        if output.text is not None and not is_masked_form(output.text, doc.text, output.masks):
            strange.append(output.id)
    if strange:
        raise AnnotationError(
            _(
                "the masked text does not fit gold text and masks: {documents}",
                documents=name_documents(strange),
            ),
            remedies=[
                Remedy(step=N_("mask the gold documents again")),
                Remedy("annotations", step=N_("for i2b2 XML give the folder of {}, not of the masked files")),
            ],
        )
    return {output.id: output.masks for output in outputs}


def is_masked_form(masked: str, original: str, masks: Sequence[Range]) -> bool:
    """Whether a text is the original, or can result from replacing only the masks.

    Example:
        >>> [is_masked_form(text, "Mr Li left", [(3, 5)]) for text in ("Mr PHI left", "Mr PHI ran")]
        [True, False]
    """
    if masked == original:
        return True
    first, *middle = _split_kept(original, masks)
    if not middle:
        return False
    *middle, last = middle
    position, limit = len(first), len(masked) - len(last)
    if not (masked.startswith(first) and masked.endswith(last) and position <= limit):
        return False
    for piece in middle:
        found = masked.find(piece, position, limit)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def _split_kept(original: str, masks: Sequence[Range]) -> Iterator[str]:
    position = 0
    for start, end in sorted(masks):
        if start > position or position == 0:
            yield original[position:start]
        position = max(position, end)
    yield original[position:]


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedDocument:
    """The tokens of one document with their `p_safe`, as arrays (n_tokens,) in text order."""

    id: str
    file: Path
    starts: Int64Array = field(repr=False)
    ends: Int64Array = field(repr=False)
    p_safe: Float64Array = field(repr=False)  # a probability in [0, 1], NaN = unknown
    words: tuple[str, ...] | None = field(default=None, repr=False)  # None = the file has no text


def read_explained(path: Path) -> dict[str, ExplainedDocument] | None:
    """Read explanations by document id, or None if they were written without text and `p_safe`.

    The path is a file NAME.explain.jsonl (also gzipped), or a folder with such files at any depth.

    Raises:
        InputError: A file is missing or unreadable, a line or token does not have the form that
            `--explain` writes, or an id is repeated. Names file, line and remedy.
    """
    files = [path]
    if path.is_dir():
        files = [file for file in sorted(path.rglob(f"*{_EXPLANATION_SUFFIX}")) if file.is_file()]
        files = [file for file in files if not file.name.startswith(".")]
    read: list[ExplainedDocument | None] = []
    for file in files:
        with name_files(file), input_errors(), open_input(file) as stream:
            read += [_parse_explanation(file, number, line) for number, line in number_lines(stream)]
    found = [explained for explained in read if explained is not None]
    if not read:
        raise FormatError(_("{path}: no explanation found", path=path), remedies=[_EXPLAIN_AGAIN])
    if len(found) < len(read):
        return None
    if twice := find_repeated(explained.id for explained in found):
        raise AnnotationError(
            _(
                "{path}: explained more than once: {documents}. Give every document once",
                path=path,
                documents=name_documents(twice),
            )
        )
    return {explained.id: explained for explained in found}


class _ExplainedToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """As `mask --explain` writes it."""

    start: Annotated[int, msgspec.Meta(ge=0)]
    end: int
    decision: Literal["keep", "mask"]
    reason: str
    p_safe: Proportion | None
    threshold: Proportion | None
    text: str | msgspec.UnsetType = msgspec.UNSET

    __repr__ = show_name


class _ExplainedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """As `mask --explain --with-text` writes it."""

    id: str | int
    tokens: list[_ExplainedToken]

    __repr__ = show_name


def _parse_explanation(file: Path, number: int, line: bytes) -> ExplainedDocument | None:
    parsed = _parse_object(line)
    if parsed is not None and set(parsed) - {"column"} == _KEYS_WITHOUT_TEXT:
        return None
    found: _ExplainedLine | None = None
    with suppress(msgspec.ValidationError):
        found = msgspec.convert(parsed, _ExplainedLine)
    if found is None:
        raise FormatError(
            _("line {number} does not have the form of an explanation", number=number),
            remedies=[_EXPLAIN_AGAIN],
        )
    end = 0
    for i, token in enumerate(found.tokens, start=1):
        if token.reason not in _REASONS or not end <= token.start < token.end:
            raise FormatError(
                _("line {number}, token {i}: wrong reason, start or end", number=number, i=i),
                remedies=[_EXPLAIN_AGAIN],
            )
        end = token.end
    words = tuple(token.text for token in found.tokens if not isinstance(token.text, msgspec.UnsetType))
    if words and len(words) != len(found.tokens):
        raise FormatError(
            _("line {number} has the text of only some tokens", number=number), remedies=[_EXPLAIN_AGAIN]
        )
    p_safe = [math.nan if token.p_safe is None else token.p_safe for token in found.tokens]
    return ExplainedDocument(
        str(found.id),
        file,
        np.array([token.start for token in found.tokens], np.int64),
        np.array([token.end for token in found.tokens], np.int64),
        np.array(p_safe, np.float64),
        words or None,
    )


def score_tokens(
    gold: Sequence[Document], explained: Mapping[str, ExplainedDocument], missing: Collection[str] = ()
) -> tuple[BoolArray, Float64Array]:
    """Return the truth and the `p_safe` of all tokens, document by document: bool and float64 (n_tokens,).

    A token is PHI if a gold span touches it. NaN = unknown. Documents in `missing` need no explanation.

    Raises:
        AnnotationError: A document has no explanation, no gold or another text. Names the
            documents and the file.
    """
    _check_explained_ids(gold, explained, missing)
    parts = list(_score_documents(gold, explained))
    is_phi = np.concatenate([np.zeros(0, np.bool_), *(truth for truth, _ in parts)])
    return is_phi, np.concatenate([np.zeros(0), *(p_safe for _, p_safe in parts)])


def _check_explained_ids(
    gold: Sequence[Document], explained: Mapping[str, ExplainedDocument], missing: Collection[str]
) -> None:
    ids = [doc.id for doc in gold]
    if surplus := sorted(set(explained) - set(ids)):
        file = explained[surplus[0]].file
        raise AnnotationError(
            _(
                "{file}: explained but not in the gold: {documents}. Give only those of the gold",
                file=file,
                documents=name_documents(surplus),
            )
        )
    if absent := [doc_id for doc_id in ids if doc_id not in explained and doc_id not in missing]:
        raise AnnotationError(
            _("in the gold but not explained: {documents}", documents=name_documents(absent)),
            remedies=[Remedy("explain", also=("with_text",), step=N_("mask them with {}"))],
        )


def _score_documents(
    gold: Sequence[Document], explained: Mapping[str, ExplainedDocument]
) -> Iterator[tuple[BoolArray, Float64Array]]:
    for doc in gold:
        found = explained.get(doc.id)
        if found is None:
            continue
        tokens = tokenize(doc.text)
        fits = (
            np.array_equal(tokens.starts, found.starts)
            and np.array_equal(tokens.ends, found.ends)
            and (found.words is None or list(found.words) == tokens.words)
        )
        if not fits:
            raise AnnotationError(
                _(
                    "{file}: {documents}: explains tokens of another text than the gold",
                    file=found.file,
                    documents=name_documents([doc.id]),
                ),
                remedies=[
                    Remedy("explain", also=("with_text",), step=N_("mask the gold documents again with {}"))
                ],
            )
        yield find_gold_tokens(doc, tokens).mark(slice(None)), found.p_safe
