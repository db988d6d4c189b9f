"""A file of a request, masked in memory: its form read, its format found, its records masked and written.

A child process reads and writes it, within limits of memory and time, and asks this process to mask. Nothing
is written to a disk. The name of the file tells its format and is not used for anything else.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import cast

from python_multipart.exceptions import FormParserError
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from inverse_deid.core.batches import cut_batches
from inverse_deid.core.child_process import answer_all
from inverse_deid.core.errors import ConfigurationError, FormatError, InputError, Remedy, StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.engine.masker import check_kept, mask_read
from inverse_deid.engine.serial import note_record
from inverse_deid.engine.tally import Tally
from inverse_deid.files.given import GivenFile
from inverse_deid.files.reading import MaskedRecord, ReadBatch, Writing, write_cases
from inverse_deid.files.workers import borrow_worker
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.icsr.standard.profiles import DEFAULT_PROFILE, builtin_profile
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS, MAX_HEAD_BYTES, NAME_FORMAT, choose_format
from inverse_deid.formats.tables.strict_json import parse_json
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.choices import Chosen
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.service.batching import Batcher
from inverse_deid.service.choices import describe_problem

MAX_FILES_WAITING = 8
_BATCH_CHARS = 50_000
"""How much text of a file waits to be masked at a time."""
MAX_FORM_FIELDS = 64
MAX_FIELD_BYTES = 64 * 1024
MAX_FIELDS_BYTES = MAX_FORM_FIELDS * MAX_FIELD_BYTES
NAME_OF_PART = re.compile(r" \(.*\)", re.DOTALL)
"""In the place of a part of an archive; answers are logged, so they do not have it."""
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")
_REPEATED = frozenset({"text_column", "keep_column", "keep_unchecked"})
_SINGLE = frozenset(
    {"settings", "format", "id_column", "keep_all_columns", "delimiter", "encoding"},
)
_FIELDS = _REPEATED | _SINGLE


class FileTooLargeError(InputError):
    """The request is larger than the service allows."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A file and how to read it."""

    content: bytes = field(repr=False)
    suffix: str  # ".docx", "" = the name has none
    format: Format
    options: ReadOptions = field(repr=False)
    settings: object = field(default=None, repr=False)  # as given, None = those of the operator

    @property
    def keeps_columns(self) -> bool:
        """Whether columns of a table would be copied unmasked, apart from one that is called id."""
        options = self.options
        is_other_id = options.id_column not in (None, "id")
        return bool(options.kept_columns) or options.keep_all_columns or is_other_id


@dataclass(frozen=True, slots=True)
class MaskedFile:
    """A masked file, and counts of what was done."""

    content: bytes = field(repr=False)
    tally: Tally


class _InMemory(MultiPartParser):
    """Keeps the file of a form in memory, whatever its size: the stream has a limit of its own."""

    spool_max_size = 0  # never roll over to a file

    def close(self) -> None:
        """Drop what was read, also of a form that breaks off."""
        for file in self._files_to_close_on_error:
            file.close()


async def read_file_form(
    headers: Headers, stream: AsyncGenerator[bytes, None], max_bytes: int
) -> FileRequest:
    """Read a form (multipart/form-data) with one file.

    Raises:
        FileTooLargeError: It has more than `max_bytes` bytes, plus some for its fields.
        FormatError: It is not such a form, or a field or the format of the file is unknown.
        ConfigurationError: Options contradict each other.
    """
    limited = _limit(stream, max_bytes + MAX_FIELDS_BYTES)
    parser = _InMemory(
        headers, limited, max_files=1, max_fields=MAX_FORM_FIELDS, max_part_size=MAX_FIELD_BYTES
    )
    problem = ""
    try:
        form = await parser.parse()
        file = form.get("file")
        content = await file.read() if isinstance(file, UploadFile) else b""
    except (MultiPartException, FormParserError):
        problem = _(
            "the form cannot be read. Send multipart/form-data with one file and at most "
            "{max_form_fields} other fields of at most {max_field_bytes} KiB",
            max_form_fields=MAX_FORM_FIELDS,
            max_field_bytes=MAX_FIELD_BYTES // 1024,
        )
    finally:
        parser.close()
    if problem:
        raise FormatError(problem)
    if not isinstance(file, UploadFile):
        raise FormatError(_("the form has no file. Send it in the field file"))
    fields = {name: [one for one in form.getlist(name) if isinstance(one, str)] for name in form}
    if len(content) > max_bytes:
        raise FileTooLargeError(_("the file is larger than {max_bytes} bytes", max_bytes=max_bytes))
    del fields["file"]
    return _read_fields(content, file.filename or "", fields)


async def _limit(stream: AsyncGenerator[bytes, None], max_bytes: int) -> AsyncGenerator[bytes, None]:
    n_bytes = 0
    async for part in stream:
        n_bytes += len(part)
        if n_bytes > max_bytes:
            raise FileTooLargeError(_("the request is larger than {max_bytes} bytes", max_bytes=max_bytes))
        yield part


def _read_fields(content: bytes, name: str, fields: dict[str, list[str]]) -> FileRequest:
    if not fields.keys() <= _REPEATED | _SINGLE:
        raise FormatError(
            _(
                "unknown field. The fields are file, {repeated}",
                repeated=", ".join(sorted(_REPEATED | _SINGLE)),
            )
        )
    twice = [one for one, values in fields.items() if one in _SINGLE and len(values) > 1]
    if twice:
        raise FormatError(_("{twice} is given twice", twice=twice[0]))
    single = {one: values[0] for one, values in fields.items() if one in _SINGLE and values and values[0]}
    if single.get("keep_all_columns", "false") not in ("true", "false"):
        raise FormatError(_("keep_all_columns must be true or false"))
    delimiter = {"tab": "\t"}.get(single.get("delimiter", ""), single.get("delimiter"))
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise FormatError(_("delimiter must be one character, or tab"))
    match = _SUFFIX.search(name)
    suffix = match[0].lower() if match else ""
    if "format" in single and single["format"] not in FORMATS:
        raise FormatError(_("format must be one of {formats}", formats=", ".join(FORMATS)))
    try:
        options = ReadOptions(
            encoding=_read_encoding(single["encoding"]) if "encoding" in single else None,
            text_columns=tuple(fields.get("text_column", ())) or ("text",),
            id_column=single.get("id_column"),
            keep_columns=tuple(fields.get("keep_column", ())),
            keep_all_columns=single.get("keep_all_columns") == "true",
            keep_unchecked=tuple(fields.get("keep_unchecked", ())),
            delimiter=delimiter,
        )
    except ConfigurationError as error:
        raise ConfigurationError(describe_problem(error, _FIELDS)) from None
    return FileRequest(
        content, suffix, _find_format(single.get("format"), content, suffix), options, _read_json(single)
    )


def _read_encoding(given: str) -> str:
    problem = ""
    try:
        return normal_encoding(given)
    except ConfigurationError:
        problem = _("encoding is unknown. Try utf-8, cp1252, latin-1 or utf-16")
    raise FormatError(problem)


def _find_format(named: str | None, content: bytes, suffix: str) -> Format:
    """Return the format that the request names, or that of the suffix and the first bytes.

    Raises:
        FormatError: Neither is known.
    """
    if named is not None:
        return FORMATS[named]
    if suffix == ".gz":
        raise FormatError(_("the file is compressed. Unpack it before you send it"))
    problem = ""
    try:
        return choose_format(PurePath(f"file{suffix}"), content[:MAX_HEAD_BYTES], NAME_FORMAT)
    except FormatError as error:
        problem = _("the file {problem}", problem=describe_problem(error, _FIELDS))
    raise FormatError(problem)


def _read_json(single: dict[str, str]) -> object:
    if "settings" not in single:
        return None
    try:
        return cast(object, parse_json(single["settings"]))
    except (ValueError, RecursionError):
        pass
    raise FormatError(_("settings is not JSON"))


class FileJob:
    """Masks one file in a thread of its own, in batches that wait in the queue beside those of others.

    It is the masker of its documents (a `DocumentMasker`): the queue masks them.

    Args:
        request: The file.
        chosen: How it is masked.
        batcher: Masks.
        client: Whose turn it is when it is masked.
        max_chars: How long one text may be: nothing else is masked at the same time.
        max_seconds: How long reading and writing the file may take.
    """

    fingerprint = ""

    def __init__(
        self,
        request: FileRequest,
        chosen: Chosen,
        batcher: Batcher[Chosen],
        *,
        client: str,
        max_chars: int,
        max_seconds: float,
    ) -> None:
        self._request = request
        self._chosen = chosen
        self._documents_alone = replace(chosen, cases=CaseSettings(today=chosen.cases.today))
        self._batcher = batcher
        self._client = client
        self._max_chars = max_chars
        self._max_seconds = max_seconds
        self._loop = asyncio.get_running_loop()
        self._waits: Future[list[MaskedDocument]] | None = None
        self._is_stopped = False
        self._masker = CaseMasker(self, chosen.cases)
        self._kept = check_kept(self._masker, "row")
        self._tally = Tally()
        self._content = bytearray()
        self.n_words = 0
        """Masked so far, also if the file is refused later."""

    def stop(self) -> None:
        """Give up: the child process is killed, and the next batch is not masked any more."""
        self._is_stopped = True
        if self._waits is not None:
            self._waits.cancel()

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask documents, some at a time so that requests with little text do not wait long."""
        longest = max((len(doc.text) for doc in docs), default=0)
        if longest > self._max_chars:
            raise FormatError(
                _(
                    "the file has a text of {longest:,} characters, and one may have {max_chars:,}. Use "
                    "inverse-deid mask",
                    longest=longest,
                    max_chars=self._max_chars,
                )
            )
        found: list[MaskedDocument] = []
        for some in cut_batches(docs, lambda doc: len(doc.text), most=_BATCH_CHARS):
            if self._is_stopped:
                raise StageError(_("the time of the request is over"))
            self._waits = asyncio.run_coroutine_threadsafe(
                self._batcher.mask(some, self._documents_alone, self._client), self._loop
            )
            masked = self._waits.result()
            self.n_words += sum(len(doc.tokens) for doc in masked)
            found += masked
        return found

    def work(self) -> MaskedFile:
        """Mask the file.

        Raises:
            InputError: It cannot be read, or a record of it cannot be masked.
            QueueFullError: Too much is waiting.
            StageError: The masker broke its contract, or the time is over.
        """
        given, chosen = self._request, self._chosen
        file = GivenFile(f"file{given.suffix}", given.format, given.content)
        # Nobody can repeat the pseudonyms of this key.
        writing = Writing(secrets.token_bytes(32), chosen.masking.marker)
        problem = ""
        try:
            with borrow_worker(lambda: self._is_stopped) as worker:
                talk = worker.talk(
                    write_cases,
                    file,
                    _read_options(given, chosen.cases.replaced),
                    writing,
                    is_stopped=lambda: self._is_stopped,
                    max_seconds=self._max_seconds,
                )
                written = answer_all(talk, self._answer)
            self._tally.add_facts(written.facts)
            if written.facts.failures:
                refused = written.facts.failures[0]
                raise _refuse(refused.where, refused.reason, refused.remedies)
        except InputError as error:
            problem = describe_problem(error, _FIELDS)
        if problem:
            raise FormatError(problem)
        return MaskedFile(bytes(self._content), self._tally)

    def _answer(self, asked: ReadBatch | bytes) -> list[MaskedRecord] | None:
        """Take a piece of the masked file, or mask a batch of records."""
        if isinstance(asked, bytes):
            self._content += asked
            return None
        for record in asked.records:
            if record.problem:
                raise _refuse(record.place, record.problem, record.remedies)
        masked = mask_read(self._masker, asked.records, self._kept)
        for record, one in zip(asked.records, masked, strict=True):
            where, is_report = record.place, record.is_report
            note_record(self._tally, where, one, is_report=is_report, is_frame=record.is_frame)
        return masked


def _refuse(place: str, problem: str, remedies: tuple[Remedy, ...]) -> FormatError:
    place = NAME_OF_PART.sub("", place)
    where = f"{place} " if place else ""
    message = _(
        "the file cannot be masked: {where}{problem}. Nothing of it is returned", where=where, problem=problem
    )
    return FormatError(message, remedies=remedies)


def _read_options(request: FileRequest, replaced: frozenset[str]) -> ReadOptions:
    """Return how the file is read; fields of case reports are treated as the dates and ages of texts are."""
    if not request.format.holds_cases:
        return request.options
    return replace(request.options, profile=builtin_profile(DEFAULT_PROFILE).follow(replaced))
