"""From the JSON of a request to documents, and from masked documents to the JSON of an answer.

Errors name the position of the document and the field, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from inverse_deid.choices.reasons import HIDDEN_GAP, WordReason, explain_document
from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, KnownIdentifier, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.formats.beside.known_values import values_of
from inverse_deid.formats.tables.strict_json import RepeatedKeyError, parse_json

MAX_ID_CHARS = 200
MAX_KNOWN = 1000
N_DECIMALS = 4

_FIELDS = frozenset({"id", "text", "known"})
_COMMON_FIELDS = frozenset({"settings", "details"})
_MANY_FIELDS = frozenset({"documents"}) | _COMMON_FIELDS

Details = Literal["masks", "words"]
"""What an answer tells beside the masked texts: of each mask, or of each word of the original as well."""


@dataclass(frozen=True, slots=True)
class MaskRequest:
    """What was asked for."""

    docs: tuple[Document, ...]  # numbered; their ids are in `ids`
    ids: tuple[str | int, ...] = field(repr=False)  # of each document, as given
    is_many: bool  # whether they came as a list, and go back as one
    settings: object = field(default=None, repr=False)  # as given, None = those of the operator
    details: Details | None = None


def read_request(body: bytes, max_documents: int) -> MaskRequest:
    """Read a request: `{"id", "text", "known"}`, or `{"documents": [...]}` with several of them.

    Both can have `settings`, which are not looked at here, and `details`.

    Raises:
        FormatError: It is something else; the message lists all faults of the first bad document.

    Example:
        >>> read_request(b'{"id": 7, "text": "She was well."}', 10).ids
        (7,)
    """
    given = _parse(body)
    is_many = isinstance(given, dict) and "documents" in given
    common = (
        {name: given[name] for name in _COMMON_FIELDS if name in given} if isinstance(given, dict) else {}
    )
    listed: Any = given["documents"] if is_many else [given]
    if is_many and not given.keys() <= _MANY_FIELDS:
        raise FormatError(_("beside documents, give only settings and details"))
    if not isinstance(listed, list):
        raise FormatError(_("documents must be a list"))
    if not 0 < len(listed) <= max_documents:
        raise FormatError(
            _(
                "documents must be 1 to {max_documents}. The request has {n_listed}",
                max_documents=max_documents,
                n_listed=len(listed),
            )
        )
    details = common.get("details")
    if details is not None and details not in get_args(Details):
        raise FormatError(_("details must be masks or words"))
    for number, one in enumerate(listed, start=1):
        problem = "; ".join(_problems(one, _FIELDS if is_many else _FIELDS | _COMMON_FIELDS))
        if problem:
            raise FormatError(_("document {number}: {problem}", number=number, problem=problem))
    docs = tuple(
        Document(str(number), one["text"], known=_read_known(one.get("known"))[0])
        for number, one in enumerate(listed, start=1)
    )
    ids = tuple(one["id"] for one in listed)
    return MaskRequest(docs, ids, is_many, common.get("settings"), details)


def answer_of(request: MaskRequest, masked: Sequence[MaskedDocument], operating_point: str) -> dict[str, Any]:
    """Return the answer to a request: ids, masked texts and counts, never an original.

    With `details` it has places of the original, suspected categories and reasons as well.
    """
    answers = [
        {
            "id": doc_id,
            "text": one.text,
            "operating_point": operating_point,
            "n_tokens": len(one.tokens),
            "n_masked": len(one.tokens) - int(one.decisions.keep.sum()),
            "failed": one.failed,
            **_list_warnings(one),
            **({} if request.details is None else describe_document(one, request.details)),
        }
        for doc_id, one in zip(request.ids, masked, strict=True)
    ]
    return {"documents": answers} if request.is_many else answers[0]


def _list_warnings(masked: MaskedDocument) -> dict[str, list[str]]:
    """Return what the requester cannot see in the masked text; nothing if there is nothing."""
    flags = {"not-english": masked.other_language, "markers-only": masked.is_plain}
    found = [name for name, applies in flags.items() if applies]
    return {"warnings": found} if found else {}


def describe_document(masked: MaskedDocument, details: Details) -> dict[str, Any]:
    """Return the masks of a document, and perhaps all its words: places, categories and reasons.

    Offsets count code points. `shown_start` and `shown_end` are places in the masked text.
    """
    words = list(explain_document(masked))
    masks = []
    i = 0
    for (start, end), (shown_start, shown_end) in zip(masked.masks, masked.replaced, strict=True):
        while i < len(words) and words[i].end <= start:
            i += 1
        first = i
        while i < len(words) and words[i].start < end:
            i += 1
        category = masked.decisions.suspect(first, i) if i > first else None
        why = list(dict.fromkeys(word.why for word in words[first:i])) or [_(HIDDEN_GAP)]
        masks.append(
            {
                "start": start,
                "end": end,
                "shown_start": shown_start,
                "shown_end": shown_end,
                "category": None if category is None else category.value.lower(),
                "why": why,
            }
        )
    if details == "masks":
        return {"masks": masks}
    return {"masks": masks, "words": [_describe_word(word) for word in words]}


def _describe_word(word: WordReason) -> dict[str, Any]:
    return {
        "start": word.start,
        "end": word.end,
        "decision": "keep" if word.keep else "mask",
        "reason": word.reason.name,
        "why": word.why,
        "p_safe": None if word.p_safe is None else round(word.p_safe, N_DECIMALS),
    }


def _parse(body: bytes) -> Any:  # noqa: ANN401 - JSON, not yet looked at
    problem = _("the body is not JSON in UTF-8")
    try:
        return parse_json(body)
    except RepeatedKeyError as error:
        problem = _("the body {error}; leave one out", error=error)
    except (ValueError, RecursionError):
        pass
    raise FormatError(problem)


def _problems(given: object, allowed: frozenset[str]) -> Iterator[str]:
    if not isinstance(given, dict):
        yield _("must be an object with id and text")
        return
    doc_id = given.get("id")
    is_text = isinstance(doc_id, str) and 0 < len(doc_id) <= MAX_ID_CHARS
    is_number = isinstance(doc_id, int) and not isinstance(doc_id, bool) and abs(doc_id) < 2**63
    if not (is_text or is_number):
        yield _(
            "id must be a whole number or a string of 1 to {max_id_chars} characters",
            max_id_chars=MAX_ID_CHARS,
        )
    if not isinstance(given.get("text"), str):
        yield _("text must be a string")
    if not set(given) <= allowed:
        yield _("unknown field; the fields are {allowed}", allowed=", ".join(sorted(allowed)))
    problem = _read_known(given.get("known"))[1]
    if problem:
        yield _("known {problem}", problem=problem)


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
        return (), _("must be a list of strings, or an object with lists of strings")
    if len(cells) > MAX_KNOWN:
        return (), _("must be at most {max_known} values", max_known=MAX_KNOWN)
    values, problem = values_of(cells)
    is_of_columns = "column" in problem
    return values, _(
        "{problem} (it is an object of names and values)", problem=problem
    ) if is_of_columns else problem
