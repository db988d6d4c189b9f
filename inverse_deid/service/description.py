"""The parts of an OpenAPI description, as rows for the page `/docs`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inverse_deid.core.wording import _

_METHODS = ("get", "post")
_MAX_DEPTH = 4

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One field of an object, for a table."""

    name: str
    depth: int  # 0 = a field of the object itself
    kind: str  # its type in words
    is_required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Body:
    """A request or an answer in one media type."""

    media_type: str
    rows: tuple[Row, ...]
    example: str  # "" = none


@dataclass(frozen=True, slots=True)
class Answer:
    """What a status means."""

    status: str
    text: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    name: str
    summary: str
    text: str
    needs_token: bool
    requests: tuple[Body, ...]
    answers: tuple[Answer, ...]


def list_operations(api: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield the operations of a description, in its order.

    Example:
        >>> from inverse_deid.service.interface import describe_api
        >>> [one.path for one in list_operations(describe_api())][:2]
        ['/mask', '/mask-file']
    """
    for path, methods in api["paths"].items():
        for method in _METHODS:
            found = methods.get(method)
            if found is None:
                continue
            yield Operation(
                method.upper(),
                path,
                found["operationId"],
                found["summary"],
                found.get("description", ""),
                needs_token={} not in found.get("security", []),
                requests=tuple(_list_bodies(api, found.get("requestBody", {}))),
                answers=tuple(
                    Answer(status, one["description"], tuple(_list_bodies(api, one)))
                    for status, one in found["responses"].items()
                ),
            )


def _list_bodies(api: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Body]:
    for media_type, one in part.get("content", {}).items():
        example = one.get("example")
        shown = "" if example is None else json.dumps(example, indent=1, ensure_ascii=False)
        yield Body(media_type, tuple(_list_rows(api, one.get("schema", {}))), shown)


def _list_rows(
    api: Mapping[str, Any], schema: Schema, depth: int = 0, shown: frozenset[str] = frozenset()
) -> Iterator[Row]:
    """Yield the fields of an object, each followed by its own fields; of alternatives, those of all.

    Args:
        api: The description.
        schema: Of the object.
        depth: Of its fields.
        shown: The named schemas whose fields come above.
    """
    options = _list_alternatives(_resolve(api, schema)) or [schema]
    seen: set[str] = set()
    named = shown | {_name_of(one) for one in options}
    for option in options:
        found = _resolve(api, option)
        required = set(found.get("required", ())) if len(options) == 1 else set()
        for name, given in found.get("properties", {}).items():
            if name in seen:
                continue
            seen.add(name)
            one = _resolve(api, given)
            inner = one.get("items", {}) if one.get("type") == "array" else given
            inner = next((part for part in _list_alternatives(inner) if "$ref" in part), inner)
            fields = _resolve(api, inner).get("properties")
            texts = (part.get("description", "") for part in (given, one, _resolve(api, inner)))
            text = next(filter(None, texts), "")
            is_above = bool(fields) and _name_of(inner) in named
            text = (_("{text} Fields as above.", text=text)).strip() if is_above else text
            yield Row(name, depth, _name_kind(api, one), name in required, text)
            if fields and not is_above and depth < _MAX_DEPTH:
                yield from _list_rows(api, inner, depth + 1, frozenset(named))


def _name_of(schema: Schema) -> str:
    """Return the name of a schema that is given by name, "" = it is not."""
    name: str = schema.get("$ref", "").rpartition("/")[2]
    # A document of a list has the fields of one that is sent alone.
    return {"DocumentRequest": "Document"}.get(name, name)


def _list_alternatives(schema: Schema) -> list[Schema]:
    return [*schema.get("oneOf", ()), *schema.get("anyOf", ())]


def _resolve(api: Mapping[str, Any], schema: Schema) -> Schema:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Schema = api["components"]["schemas"][name] if name else schema
    return found


def _name_kind(api: Mapping[str, Any], schema: Schema) -> str:
    """Return the type of a value in words: `string`, `list of strings`, `strict, balanced or lenient`."""
    schema = _resolve(api, schema)
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        values = ["null" if one is None else str(one) for one in schema["enum"]]
        return _(" or ").join([", ".join(values[:-1]), values[-1]]) if len(values) > 1 else values[0]
    if alternatives := _list_alternatives(schema):
        return _(" or ").join(dict.fromkeys(_name_kind(api, one) for one in alternatives))
    kinds = schema.get("type", "any value")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds == ["array"]:
        return _("list of {kind}", kind=_name_kind(api, schema.get("items", {})))
    return _(" or ").join(kinds)
