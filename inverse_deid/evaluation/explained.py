"""Reading the `p_safe` of every token from what `inverse-deid mask --explain --with-text` wrote.

The file has seven decimals of it, as many as single precision tells apart near 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import AnnotationError, FormatError, InputError
from inverse_deid.core.values import BoolArray, Document, Reason
from inverse_deid.evaluation.evaluation import named, repeated
from inverse_deid.evaluation.gold_tokens import Int64Array, gold_tokens
from inverse_deid.evaluation.uncertainty import Float64Array
from inverse_deid.formats.json_lines import number_lines
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.strict_json import parse_json
from inverse_deid.text.tokenizer import tokenize

_SUFFIX = ".explain.jsonl"
_KEYS = frozenset({"start", "end", "decision", "reason", "p_safe", "threshold"})
_KEYS_WITHOUT_TEXT = frozenset({"id", "failed", "words"})
_DECISIONS = ("keep", "mask")
_REASONS = tuple(reason.name for reason in Reason)
_REMEDY = "give what `inverse-deid mask --explain --with-text` wrote"


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedDocument:
    """The tokens of one document with their `p_safe`; arrays of (n_tokens,), in text order.

    Args:
        id: Of the document.
        file: Where it stands.
        starts: int64, offset of the first character.
        ends: int64, offset behind the last one.
        p_safe: float64, probability of *safe* in [0, 1], NaN = unknown.
        words: The tokens, if the file holds them (`--with-text`).
    """

    id: str
    file: Path
    starts: Int64Array = field(repr=False)
    ends: Int64Array = field(repr=False)
    p_safe: Float64Array = field(repr=False)
    words: tuple[str, ...] | None = field(default=None, repr=False)


def read_explained(path: Path) -> dict[str, ExplainedDocument] | None:
    """Read explanations by document id; None if they were written without the text, hence without `p_safe`.

    Args:
        path: A file NAME.explain.jsonl (also gzipped), or a folder with such files at any depth.

    Raises:
        InputError: Missing or unreadable, a line or token is not what `--explain`
            writes, or an id stands there twice. The message names file, line and remedy.
    """
    files = _files_below(path) if path.is_dir() else [path]
    read = [explained for file in files for explained in _read_file(file)]
    found = [explained for explained in read if explained is not None]
    if not read:
        raise FormatError(f"{path}: holds no explanation; {_REMEDY}")
    if len(found) < len(read):
        return None
    if twice := repeated(explained.id for explained in found):
        raise AnnotationError(f"{path}: explained more than once: {named(twice)}; give every document once")
    return {explained.id: explained for explained in found}


def _files_below(folder: Path) -> list[Path]:
    return [
        file
        for file in sorted(folder.rglob(f"*{_SUFFIX}"))
        if file.is_file() and not file.name.startswith(".")
    ]


def _read_file(path: Path) -> list[ExplainedDocument | None]:
    """The documents of one file, None for one without `p_safe`; an error names the file."""
    try:
        with input_errors(), open_input(path) as stream:
            return [_document(path, number, line) for number, line in number_lines(stream)]
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _document(file: Path, number: int, line: bytes) -> ExplainedDocument | None:
    parsed: object = None
    with suppress(ValueError, RecursionError):
        parsed = parse_json(line)
    if isinstance(parsed, dict) and set(parsed) - {"column"} == _KEYS_WITHOUT_TEXT:
        return None
    if not isinstance(parsed, dict) or set(parsed) != {"id", "tokens"}:
        raise FormatError(f'line {number} is not {{"id", "tokens"}}; {_REMEDY}')
    doc_id, tokens = parsed["id"], parsed["tokens"]
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int):
        raise FormatError(f"line {number} has an id that is neither text nor a whole number; {_REMEDY}")
    if not isinstance(tokens, list):
        raise FormatError(f"line {number} has no list of tokens; {_REMEDY}")
    end = 0
    for i, token in enumerate(tokens, start=1):
        if not (_is_token(token) and end <= token["start"] < token["end"]):
            raise FormatError(f"line {number}, token {i} is not what --explain writes; {_REMEDY}")
        end = token["end"]
    words = tuple(token["text"] for token in tokens if "text" in token)
    if words and len(words) != len(tokens):
        raise FormatError(f"line {number} has the text of some tokens only; {_REMEDY}")
    return ExplainedDocument(
        str(doc_id),
        file,
        np.array([token["start"] for token in tokens], np.int64),
        np.array([token["end"] for token in tokens], np.int64),
        np.array([math.nan if token["p_safe"] is None else token["p_safe"] for token in tokens], np.float64),
        words or None,
    )


def _is_token(token: object) -> bool:
    """Whether it has the keys of a token with values of their kinds."""
    return (
        isinstance(token, dict)
        and token.keys() - {"text"} == _KEYS
        and type(token["start"]) is int
        and type(token["end"]) is int
        and token["decision"] in _DECISIONS
        and token["reason"] in _REASONS
        and all(_is_probability(token[key]) for key in ("p_safe", "threshold"))
        and isinstance(token.get("text", ""), str)
    )


def _is_probability(value: object) -> bool:
    """Whether it is null or a number in [0, 1]."""
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)  # type: ignore[operator]


def scored_tokens(
    gold: Sequence[Document], explained: Mapping[str, ExplainedDocument], missing: Collection[str] = ()
) -> tuple[BoolArray, Float64Array]:
    """The truth and the `p_safe` of all tokens, one document after the other.

    Args:
        gold: Annotated documents with distinct ids.
        explained: Their explanations by id.
        missing: Documents that need no explanation.

    Returns:
        bool (n_tokens,), whether a gold span touches the token; float64 (n_tokens,),
        its `p_safe`, NaN = unknown.

    Raises:
        AnnotationError: A document has no explanation, no gold or another text. The
            message names the documents and the file.
    """
    _check_ids(gold, explained, missing)
    parts = list(_parts(gold, explained))
    is_phi = np.concatenate([np.zeros(0, np.bool_), *(truth for truth, _ in parts)])
    return is_phi, np.concatenate([np.zeros(0), *(p_safe for _, p_safe in parts)])


def _check_ids(
    gold: Sequence[Document], explained: Mapping[str, ExplainedDocument], missing: Collection[str]
) -> None:
    ids = [doc.id for doc in gold]
    if surplus := sorted(set(explained) - set(ids)):
        file = explained[surplus[0]].file
        raise AnnotationError(
            f"{file}: explained but not in the gold: {named(surplus)}; give those of the gold alone"
        )
    if absent := [doc_id for doc_id in ids if doc_id not in explained and doc_id not in missing]:
        raise AnnotationError(
            f"in the gold but not explained: {named(absent)}; mask them too with --explain --with-text"
        )


def _parts(
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
                f"{found.file}: {named([doc.id])}: explains tokens of another text than the gold has; "
                "mask the gold documents again with --explain --with-text"
            )
        yield gold_tokens(doc, tokens).mark(slice(None)), found.p_safe
