"""From the JSON of a request to documents, and from masked documents to the JSON of an answer.

Errors name the position of the document and the field, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, KnownIdentifier, MaskedDocument
from inverse_deid.formats.known_values import values_of
from inverse_deid.formats.strict_json import RepeatedKeyError, parse_json

MAX_ID_CHARS = 200
MAX_KNOWN = 1000

_FIELDS = frozenset({"id", "text", "known"})


@dataclass(frozen=True, slots=True)
class MaskRequest:
    """What was asked for."""

    docs: tuple[Document, ...]  # numbered; their ids are in `ids`
    ids: tuple[str | int, ...] = field(repr=False)  # of each document, as given
    is_many: bool  # whether they came as a list, and go back as one


def read_request(body: bytes, max_documents: int) -> MaskRequest:
    """Read a request: `{"id", "text", "known"}`, or `{"documents": [...]}` with several of them.

    Raises:
        FormatError: It is something else; the message lists all faults of the first bad document.

    Example:
        >>> read_request(b'{"id": 7, "text": "She was well."}', 10).ids
        (7,)
    """
    given = _parse(body)
    is_many = isinstance(given, dict) and "documents" in given
    listed: Any = given["documents"] if is_many else [given]
    if is_many and set(given) != {"documents"}:
        raise FormatError("documents must be the only field")
    if not isinstance(listed, list):
        raise FormatError("documents must be a list")
    if not 0 < len(listed) <= max_documents:
        raise FormatError(f"documents must be 1 to {max_documents}. The request has {len(listed)}")
    for number, one in enumerate(listed, start=1):
        problem = "; ".join(_problems(one))
        if problem:
            raise FormatError(f"document {number}: {problem}")
    docs = tuple(
        Document(str(number), one["text"], known=_read_known(one.get("known"))[0])
        for number, one in enumerate(listed, start=1)
    )
    return MaskRequest(docs, tuple(one["id"] for one in listed), is_many)


def answer_of(request: MaskRequest, masked: Sequence[MaskedDocument], operating_point: str) -> dict[str, Any]:
    """Return the answer to a request: ids, masked texts and counts, never an original."""
    answers = [
        {
            "id": doc_id,
            "text": one.text,
            "operating_point": operating_point,
            "n_tokens": len(one.tokens),
            "n_masked": len(one.tokens) - int(one.decisions.keep.sum()),
            "failed": one.failed,
        }
        for doc_id, one in zip(request.ids, masked, strict=True)
    ]
    return {"documents": answers} if request.is_many else answers[0]


def _parse(body: bytes) -> Any:  # noqa: ANN401 - JSON, not yet looked at
    problem = "the body is not JSON in UTF-8"
    try:
        return parse_json(body)
    except RepeatedKeyError as error:
        problem = f"the body {error}; leave one out"
    except (ValueError, RecursionError):
        pass
    raise FormatError(problem)


def _problems(given: object) -> Iterator[str]:
    """Return what is wrong with one document."""
    if not isinstance(given, dict):
        yield "must be an object with id and text"
        return
    doc_id = given.get("id")
    is_text = isinstance(doc_id, str) and 0 < len(doc_id) <= MAX_ID_CHARS
    is_number = isinstance(doc_id, int) and not isinstance(doc_id, bool) and abs(doc_id) < 2**63
    if not (is_text or is_number):
        yield f"id must be a whole number or a string of 1 to {MAX_ID_CHARS} characters"
    if not isinstance(given.get("text"), str):
        yield "text must be a string"
    if not set(given) <= _FIELDS:
        yield f"unknown field; the fields are {', '.join(sorted(_FIELDS))}"
    problem = _read_known(given.get("known"))[1]
    if problem:
        yield f"known {problem}"


def _read_known(given: object) -> tuple[tuple[KnownIdentifier, ...], str]:
    """Return known identifiers, and what is wrong with them ("" = nothing)."""
    if given is None:
        return (), ""
    by_sort = given if isinstance(given, Mapping) else {"known": given}
    listed = [
        (sort, one)
        for sort, found in by_sort.items()
        for one in (found if isinstance(found, list) else [found])
    ]
    cells = [(sort, one) for sort, one in listed if isinstance(one, str)]
    if len(cells) < len(listed):
        return (), "must be a list of strings, or an object with lists of strings"
    if len(cells) > MAX_KNOWN:
        return (), f"must be at most {MAX_KNOWN} values"
    values, problem = values_of(cells)
    is_of_columns = "column" in problem
    return values, f"{problem} (it is an object of names and values)" if is_of_columns else problem
