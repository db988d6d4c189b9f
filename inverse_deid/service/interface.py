"""The OpenAPI description of the service, made from the types of its messages and the table of choices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from inverse_deid import __version__
from inverse_deid.choices.categories import CLASS_OF
from inverse_deid.choices.records import Surface, Table, find_choice
from inverse_deid.choices.table import CHOICES, COLUMNS
from inverse_deid.core.values import Reason
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.beside.known_values import SORTS
from inverse_deid.service.choices import settings_type
from inverse_deid.service.documents import MAX_ID_CHARS, MAX_KNOWN, Details

Json = dict[str, Any]

_POINTS = find_choice(CHOICES, "operating_point").names_on
_NAMES = f"^({'|'.join(SORTS)})([ _-]*[0-9]+)?$"

Count = Annotated[int, Meta(ge=0)]
Texts = str | list[str]
"""One text or several."""


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """A document of a request."""

    id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARS)] | int,
        Meta(description=N_("Returned unchanged and unmasked: it must not contain a name.")),
    ]
    text: Annotated[str, Meta(description=N_("The narrative."))]
    known: Annotated[
        str
        | Annotated[list[str], Meta(max_length=MAX_KNOWN)]
        | Annotated[dict[str, Texts], Meta(extra_json_schema={"propertyNames": {"pattern": _NAMES}})]
        | None,
        Meta(
            description=N_(
                "Identifiers that the text must not show in any spelling: a list of texts, or an object "
                "of lists by what they are. Dates are written 1980-05-12."
            )
        ),
    ] = None

    def __repr__(self) -> str:
        return "Document()"


class Mask(msgspec.Struct, forbid_unknown_fields=True):
    """A mask of a document."""

    start: Annotated[Count, Meta(description=N_("In the original; offsets count code points."))]
    end: Annotated[Count, Meta(description=N_("In the original, after the last character."))]
    shown_start: Annotated[Count, Meta(description=N_("In the masked text."))]
    shown_end: Annotated[Count, Meta(description=N_("In the masked text, after the last character."))]
    category: Annotated[
        Literal[tuple(map(str, CLASS_OF))] | None,  # type: ignore[valid-type]
        Meta(description=N_("What it seems to be, null = unknown.")),
    ]
    why: Annotated[
        list[str],
        Meta(min_length=1, description=N_("The reasons in plain words, without a word of the text.")),
    ]


class Word(msgspec.Struct, forbid_unknown_fields=True):
    """A word of the original of a document."""

    start: Annotated[Count, Meta(description=N_("In the original."))]
    end: Annotated[Count, Meta(description=N_("In the original, after the last character."))]
    decision: Annotated[Literal["keep", "mask"], Meta(description=N_("What was done."))]
    reason: Annotated[
        Literal[tuple(one.name for one in Reason)],  # type: ignore[valid-type]
        Meta(description=N_("The rule that decided.")),
    ]
    why: Annotated[str, Meta(description=N_("The same in plain words."))]
    p_safe: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description=N_("How sure it is that the word identifies nobody, null = unknown.")),
    ]


class MaskedDocument(msgspec.Struct, forbid_unknown_fields=True):
    """A document of an answer."""

    id: str | int
    text: Annotated[str, Meta(description=N_("The masked text."))]
    operating_point: Literal[_POINTS(Surface.REQUEST)]  # type: ignore[valid-type]
    n_tokens: Annotated[Count, Meta(description=N_("Words and numbers of the original."))]
    n_masked: Annotated[
        Count,
        Meta(
            description=N_(
                "How many of them are masked. A marker may stand for several: pass on the text alone."
            )
        ),
    ]
    failed: Annotated[
        bool, Meta(description=N_("The document could not be analysed and was masked completely."))
    ]
    warnings: Annotated[
        list[Literal["not-english", "markers-only"]],
        Meta(
            description=N_(
                "Given only if there is something: the document seems not to be English, or dates and "
                "ages could not be computed and are masked."
            )
        ),
    ] = []
    masks: Annotated[
        list[Mask], Meta(description=N_("With details: the masks in text order. Confidential."))
    ] = []
    words: Annotated[
        list[Word],
        Meta(description=N_("With details words: the words of the original in text order. Confidential.")),
    ] = []

    def __repr__(self) -> str:
        return "MaskedDocument()"


class MaskedDocuments(msgspec.Struct, forbid_unknown_fields=True):
    """The answer to several documents."""

    documents: Annotated[list[MaskedDocument], Meta(min_length=1)]


class Health(msgspec.Struct, forbid_unknown_fields=True):
    """The answer of `/health`."""

    status: Literal["ok"]
    version: str
    waiting: Annotated[Count, Meta(description=N_("Requests that wait."))]


class Error(msgspec.Struct, forbid_unknown_fields=True):
    """Every refusal."""

    error: Annotated[str, Meta(description=N_("One line without text of a document."))]


def _request_types(table: Table) -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    """Return the types of a request with one document, and of one with several."""
    common: list[tuple[str, Any, Any]] = [
        (
            "settings",
            Annotated[
                settings_type(table) | None,
                Meta(
                    description=N_(
                        "How this request is masked. Without a permit of the operator it can only mask "
                        "more than the service does, never less."
                    )
                ),
            ],
            None,
        ),
        (
            "details",
            Annotated[
                Details | None,
                Meta(
                    description=N_(
                        "Tell of each mask its place, category and reasons, or of each word of the "
                        "original as well. The answer is then as confidential as the original. The "
                        "operator can forbid it."
                    )
                ),
            ],
            None,
        ),
    ]
    several = Annotated[
        list[Document], Meta(min_length=1, description=N_("Several documents, each a case of its own."))
    ]
    one = msgspec.defstruct("DocumentRequest", common, bases=(Document,), forbid_unknown_fields=True)
    many = msgspec.defstruct(
        "DocumentsRequest", [("documents", several), *common], forbid_unknown_fields=True
    )
    return one, many


def _form_type() -> Json:
    """Return the schema of the form of a file, whose fields are strings."""
    permit = _(" Needs the permit {columns}.", columns=COLUMNS)
    fields: dict[str, tuple[str, Json]] = {
        "settings": (_("The settings as JSON, as for POST /mask."), {"contentMediaType": "application/json"}),
        "format": (_("The format, if the suffix does not tell it: text, jsonl, csv and so on."), {}),
        "id_column": (
            _(
                "Column (or JSON key) with the id, which is copied unmasked. Any other than id needs the "
                "permit {columns}.",
                columns=COLUMNS,
            ),
            {},
        ),
        "keep_all_columns": (
            _("Copy all other columns, checked as with keep_column.{permit}", permit=permit),
            {"enum": ["true", "false"]},
        ),
        "delimiter": (_("Between the cells of a CSV file: one character, or tab."), {}),
        "encoding": (_("Of text, JSON Lines and CSV files, otherwise it is found out."), {}),
    }
    lists = {
        "text_column": _("Column (or JSON key) with texts, otherwise text. Repeat the field for several."),
        "keep_column": _(
            "Column (or JSON key) to copy; others are dropped. Names, contacts, ids and free text in it "
            "are refused, and dates and ages follow those of the text.{permit}",
            permit=permit,
        ),
        "keep_unchecked": _("Column (or JSON key) to copy whatever it contains.{permit}", permit=permit),
    }
    file = _("The file. The suffix of its name tells the format, and nothing else of the name is used.")
    properties: Json = {"file": {"type": "string", "format": "binary", "description": file}}
    properties |= {
        name: {"type": "string", "description": text, **more} for name, (text, more) in fields.items()
    }
    properties |= {
        name: {"type": "array", "items": {"type": "string"}, "description": text}
        for name, text in lists.items()
    }
    return {"type": "object", "required": ["file"], "additionalProperties": False, "properties": properties}


def _content(media_type: str, schema: Json, example: Json | None = None) -> Json:
    return {media_type: {"schema": schema} | ({} if example is None else {"example": example})}


def _answer(text: str, content: Json, **headers: tuple[str, str]) -> Json:
    """Return an answer; headers by name, with `_` for `-`: their type and what they say."""
    described = {
        name.replace("_", "-"): {"schema": {"type": kind}} | ({"description": said} if said else {})
        for name, (kind, said) in headers.items()
    }
    return {"description": text, "content": content} | ({"headers": described} if described else {})


def _refusals(**texts: str) -> Json:
    """Return the refusals of a path that masks: those of all of them, and those with the texts given."""
    error = _content("application/json", {"$ref": "#/components/schemas/Error"})
    later = {"Retry_After": ("integer", _("Seconds after which to come again."))}
    return {
        "401": _answer(_("The token is missing or wrong."), error, WWW_Authenticate=("string", "")),
        "403": _answer(texts["forbidden"], error),
        "413": _answer(_("The request is too large."), error),
        "415": _answer(_("The request is not {media_type}.", media_type=texts["media_type"]), error),
        "422": _answer(texts["malformed"], error),
        "500": _answer(_("The documents could not be masked."), error),
        "429": _answer(_("The client has used the requests or words of this minute."), error, **later),
        "503": _answer(_("Too much is waiting, or the time limit was reached."), error, **later),
    }


def _get(name: str, summary: str, text: str, content: Json, **more: Json) -> Json:
    """Return a path that needs no token."""
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "security": [{}],
            "responses": {"200": _answer(text, content)} | more,
        }
    }


_EXAMPLE = {
    "id": 1,
    "text": "Mr. Okonkwo had a rash.",
    "details": "masks",
    "settings": {"operating_point": "strict", "deny": ["Mill Lane"]},
}
_EXAMPLE_ANSWER = {
    "id": 1,
    "text": "Mr. PHI had a rash.",
    "operating_point": "strict",
    "n_tokens": 5,
    "n_masked": 1,
    "failed": False,
    "masks": [
        {
            "start": 4,
            "end": 11,
            "shown_start": 4,
            "shown_end": 7,
            "category": "name",
            "why": [
                "Masked: is known only as the name of a person or place, follows a title. Seems to be a "
                "name. Less than 1 % sure that this is not an identifier."
            ],
        }
    ],
}


def describe_api(table: Table = CHOICES) -> Json:
    """Return the OpenAPI 3.1 description of the service.

    Args:
        table: Of the choices of a request.
    """
    types = (*_request_types(table), MaskedDocument, MaskedDocuments, Health, Error)
    refs, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    one, many, masked, masked_many, health, _ignored = refs
    mask = {
        "operationId": "mask",
        "summary": _("Mask one document or many."),
        "description": _(
            "Send one document as {id, text}, or several as {documents: [...]}. The answer has the same "
            "form and order."
        ),
        "requestBody": {
            "required": True,
            "content": _content("application/json", {"oneOf": [one, many]}, _EXAMPLE),
        },
        "responses": {
            "200": _answer(
                _("One masked document for one, a list in the same order for many."),
                _content("application/json", {"oneOf": [masked, masked_many]}, _EXAMPLE_ANSWER),
            ),
            **_refusals(
                media_type="application/json",
                forbidden=_(
                    "The operator does not permit details, or a page of another site sent the request."
                ),
                malformed=_(
                    "The request is malformed, or a setting is unknown or not permitted. The message "
                    "names position and field."
                ),
            ),
        },
    }
    mask_file = {
        "operationId": "maskFile",
        "summary": _("Mask a file."),
        "description": _(
            "The file is masked in memory and returned in its format. It is masked whole or not at all: "
            "if a record cannot be masked, nothing of it is returned."
        ),
        "requestBody": {"required": True, "content": _content("multipart/form-data", _form_type())},
        "responses": {
            "200": _answer(
                _("The masked file in the format that was sent."),
                _content("application/octet-stream", {"type": "string", "format": "binary"}),
                Content_Disposition=(
                    "string",
                    _("A file name with nothing of the one that was sent but its suffix."),
                ),
                Inverse_Deid_Counts=(
                    "string",
                    _(
                        "JSON: n_documents, failed (masked completely), n_tokens, n_other_language (seem "
                        "not to be English), columns by what became of them, removed parts by kind, "
                        "read_as (encoding and separator), n_failures, n_warnings, the same as sentences "
                        "(said), and warnings."
                    ),
                ),
            ),
            **_refusals(
                media_type="multipart/form-data",
                forbidden=_(
                    "The operator does not permit copied columns, or a page of another site sent the request."
                ),
                malformed=_(
                    "The file cannot be read, or one of its records cannot be masked, or a field or "
                    "setting is unknown or not permitted. Nothing of the file is returned."
                ),
            ),
        },
    }
    text, page = _content("text/plain", {"type": "string"}), _content("text/html", {"type": "string"})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "inverse-deid",
            "version": __version__,
            "summary": _(
                "Masks medical case narratives: all words are hidden but those that are surely safe."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}],
        "paths": {
            "/mask": {"post": mask},
            "/mask-file": {"post": mask_file},
            "/health": _get(
                "health",
                _("Whether the service is up; needs no token."),
                _("It is."),
                _content("application/json", health),
            ),
            "/metrics": _get(
                "metrics",
                _("Numbers for Prometheus; for this machine, or with the token of the metrics."),
                _("Requests, durations, queues, connections and memory."),
                text,
                **{"403": _answer(_("Another machine asks without the token of the metrics."), text)},
            ),
            "/openapi.json": _get(
                "openapi",
                _("This description; needs no token."),
                _("OpenAPI 3.1."),
                _content("application/json", {"type": "object"}),
            ),
            "/": _get(
                "page",
                _("A page to paste a text and see it masked; needs no token itself."),
                _("The page."),
                page,
            ),
            "/docs": _get("docs", _("This description as a page; needs no token."), _("The page."), page),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _translate(schemas),
        },
    }


def _translate(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a schema with its descriptions in the language of the context."""
    if isinstance(schema, list):
        return [_translate(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _(one) if key == "description" and isinstance(one, str) else _translate(one)
        for key, one in schema.items()
    }
