"""From the JSON of a request to documents, and from masked documents to the JSON of an answer.

What is wrong with a request is said by the position of the document and the name of the field, never
with a value.
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
    """What was asked for.

    Args:
        docs: The documents; their own ids stand in `ids`.
        ids: The id of each document as it was given, text or a whole number.
        is_many: Whether they came as a list, and go back as one.
    """

    docs: tuple[Document, ...]
    ids: tuple[str | int, ...] = field(repr=False)
    is_many: bool


def read_request(body: bytes, max_documents: int) -> MaskRequest:
    """The documents of a request.

    Args:
        body: `{"id", "text", "known"}`, or `{"documents": [...]}` with several of them.
        max_documents: How many there may be.

    Raises:
        FormatError: It is something else; all that is wrong with the first bad document is said.

    Example:
        >>> read_request(b'{"id": 7, "text": "She was well."}', 10).ids
        (7,)
    """
    given = _parsed(body)
    is_many = isinstance(given, dict) and "documents" in given
    listed: Any = given["documents"] if is_many else [given]
    if is_many and set(given) != {"documents"}:
        raise FormatError("beside documents there may be no other field")
    if not isinstance(listed, list):
        raise FormatError("documents must be a list")
    if not 0 < len(listed) <= max_documents:
        raise FormatError(f"documents must be 1 to {max_documents}, and there are {len(listed)}")
    for number, one in enumerate(listed, start=1):
        problem = "; ".join(_problems(one))
        if problem:
            raise FormatError(f"document {number}: {problem}")
    docs = tuple(
        Document(str(number), one["text"], known=_known(one.get("known"))[0])
        for number, one in enumerate(listed, start=1)
    )
    return MaskRequest(docs, tuple(one["id"] for one in listed), is_many)


def answer_of(request: MaskRequest, masked: Sequence[MaskedDocument], operating_point: str) -> dict[str, Any]:
    """The answer to a request: ids, masked texts and counts, never an original.

    Args:
        request: What was asked for.
        masked: One a document, in order.
        operating_point: How sure a kept word is.
    """
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


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - JSON, not yet looked at
    problem = "the body is no JSON in UTF-8"
    try:
        return parse_json(body)
    except RepeatedKeyError as error:
        problem = f"the body {error}; leave one out"
    except (ValueError, RecursionError):
        pass
    raise FormatError(problem)


def _problems(given: object) -> Iterator[str]:
    """What is wrong with one document."""
    if not isinstance(given, dict):
        yield "must be an object with id and text"
        return
    if not _is_id(given.get("id")):
        yield f"id must be a whole number or text of 1 to {MAX_ID_CHARS} characters"
    if not isinstance(given.get("text"), str):
        yield "text must be text"
    if not set(given) <= _FIELDS:
        yield f"there may be no field but {', '.join(sorted(_FIELDS))}"
    problem = _known(given.get("known"))[1]
    if problem:
        yield f"known {problem}"


def _is_id(given: object) -> bool:
    if isinstance(given, str):
        return 0 < len(given) <= MAX_ID_CHARS
    return isinstance(given, int) and not isinstance(given, bool) and abs(given) < 2**63


def _known(given: object) -> tuple[tuple[KnownIdentifier, ...], str]:
    """Known identifiers, and what is wrong with them ("" = nothing)."""
    if given is None:
        return (), ""
    by_sort = given if isinstance(given, Mapping) else {"known": given}
    listed = [(sort, one) for sort, found in by_sort.items() for one in _listed(found)]
    cells = [(sort, one) for sort, one in listed if isinstance(one, str)]
    if len(cells) < len(listed):
        return (), "must be a list of texts, or an object with lists of texts"
    if len(cells) > MAX_KNOWN:
        return (), f"must be at most {MAX_KNOWN} values"
    values, problem = values_of(cells)
    is_of_columns = "column" in problem
    return values, f"{problem} (it is an object of names and values)" if is_of_columns else problem


def _listed(given: object) -> list[object]:
    return given if isinstance(given, list) else [given]
