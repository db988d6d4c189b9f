r"""Messages between server and sites: declarations, states and replies, sealed with the site's key.

A message is a header and arrays of numbers::

    "IDF1"   tag: 32 bytes   length of the header: 4 bytes   header: JSON   arrays: raw, little endian

The tag is HMAC-SHA256 of everything after it. The header lists the arrays, whose sizes must fill
the rest to the byte. Nothing is pickled or compressed.

For sites without open ports, `FileExchange` keeps messages in a folder that both sides can reach::

    to/SITE/state-000012.msg      from the server
    from/SITE/declaration.msg     from the site
    from/SITE/reply-000012.msg

The folder may be a share, a synchronised folder or a stick that is carried. Files appear whole or
not at all. Each site has its own key and needs to see its own two folders only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from inverse_deid.core.errors import OutputExistsError, Remedy, UnreadableInputError, UpdateError
from inverse_deid.core.files import write_whole
from inverse_deid.core.values import FloatArray
from inverse_deid_research.federated.settings import SharedWay
from inverse_deid_research.federated.weights import IndexArray, Selected

if TYPE_CHECKING:
    from inverse_deid_research.federated.site import SiteRun

_MAGIC, _TAG_BYTES = b"IDF1", 32
_DTYPES: Mapping[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "int64": np.dtype("<i8")}
_LONGEST_HEADER_BYTES = 1 << 16
_LEAST_KEY_BYTES = 16
PROTOCOL = 1
"""Raised with every change of the messages."""
_DECLARATION = "declaration"
_STEP_S = 0.2
Message = TypeVar("Message", "Declaration", "TrainingState", "Reply")


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """A message: JSON values and float32 or int64 arrays by name. It contains no text of documents."""

    header: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)


Gathered = Mapping[str, Envelope | UpdateError]
"""Messages by site in the order of arrival; an error where one could not be opened."""


def seal(envelope: Envelope, key: bytes) -> bytes:
    """Return the bytes of a message, or raise `ValueError` if an array has another type."""
    listed = []
    for name, array in envelope.arrays.items():
        if str(array.dtype) not in _DTYPES:
            raise ValueError(f"{name}: arrays of {array.dtype} are not sent")
        listed.append([name, str(array.dtype), list(array.shape)])
    header = json.dumps({**envelope.header, "arrays": listed}).encode()
    body = struct.pack("<I", len(header)) + header
    body += b"".join(
        np.ascontiguousarray(a, _DTYPES[str(a.dtype)]).tobytes() for a in envelope.arrays.values()
    )
    return _MAGIC + _tag(body, key) + body


def open_sealed(data: bytes, key: bytes) -> Envelope:
    """Read a message, or raise `UpdateError` if it was sealed with another key, altered or damaged."""
    start = len(_MAGIC) + _TAG_BYTES
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or not hmac.compare_digest(data[len(_MAGIC) : start], _tag(body, key)):
        raise UpdateError("sent a message that is damaged or sealed with another key")
    try:
        return _parse(body)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise UpdateError("sent a message that cannot be read") from error


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()


def _parse(body: bytes) -> Envelope:
    (length,) = struct.unpack_from("<I", body)
    if length > _LONGEST_HEADER_BYTES:
        raise ValueError("the header is too long")
    header = dict(json.loads(body[4 : 4 + length]))
    offset, arrays = 4 + length, {}
    for name, kind, shape in header.pop("arrays"):
        dtype = _DTYPES[kind]
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError("a size is not a whole number of at least 0")
        n_numbers = int(np.prod(shape, dtype=object)) if shape else 1
        if offset + n_numbers * dtype.itemsize > len(body):
            raise ValueError("the message is too short")
        arrays[str(name)] = np.frombuffer(body, dtype, n_numbers, offset).reshape(shape)
        offset += n_numbers * dtype.itemsize
    if offset != len(body):
        raise ValueError("the message is too long")
    return Envelope(header, arrays)


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site declares: hashes and counts, nothing of its documents."""

    site: str
    version: str
    network: str  # hash of configuration and layout of the weights
    training: str
    lexicon: str
    word_vectors: str  # hash of the public vocabulary and its vectors
    n_tokens: int
    protocol: int = PROTOCOL

    def find_problem(self, wanted: Declaration) -> str | None:
        """Describe in one line why the site does not fit another one or the server; None if it does."""
        if self.n_tokens < 1:
            return "has no training document; give it annotated documents"
        for name, problem in _COMMON.items():
            if getattr(self, name) != getattr(wanted, name):
                return f"has {problem}"
        return None


_COMMON = {
    "protocol": "another protocol of exchange; install the same version everywhere",
    "version": "another version of inverse-deid; install the same one everywhere",
    "network": "another network; give every site the same [network]",
    "training": "other settings of training; give every site the same [training]",
    "lexicon": "another lexicon; use the packaged one everywhere, or the same built one",
    "word_vectors": "other word vectors; give every site the same file",
}


@dataclass(frozen=True, slots=True, eq=False)
class TrainingState:
    """What a server publishes: how far the common training is after `number` rounds."""

    run: str
    number: int
    way: SharedWay
    epoch: int
    asked: tuple[str, ...]  # sites that must answer, none where it is finished
    order: tuple[str, ...]  # all sites; a site's place is part of its random seed
    seed: int
    finished: bool
    weights: FloatArray = field(repr=False)  # float32 (n_weights,), of the common network
    # int64 (n_weights,), updates of each weight; empty except in *selective*.
    counts: IndexArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What leaves a site after an epoch."""

    site: str
    run: str
    number: int
    n_tokens: int  # none in *selective*
    # All, float32 (n_weights,), except in *selective*.
    weights: FloatArray | None = field(default=None, repr=False)
    # int64 (n,), in *selective* those of the weights whose changes leave.
    indices: IndexArray | None = field(default=None, repr=False)
    values: FloatArray | None = field(default=None, repr=False)  # float32 (n,), these changes

    @property
    def changes(self) -> Selected:
        """The changes of weights, in *selective*, or `UpdateError` if there are none."""
        if self.indices is None or self.values is None:
            raise UpdateError("sent no changes")
        return Selected(self.indices, self.values)


_KINDS: Mapping[type, str] = {Declaration: "declaration", TrainingState: "state", Reply: "reply"}


def pack(values: Declaration | TrainingState | Reply) -> Envelope:
    if isinstance(values, Declaration):
        given = msgspec.structs.asdict(values)
    else:
        given = {field.name: getattr(values, field.name) for field in dataclasses.fields(values)}
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    header = {name: value for name, value in given.items() if name not in arrays and value is not None}
    return Envelope({"kind": _KINDS[type(values)], **header}, arrays)


def unpack(envelope: Envelope, wanted: type[Message]) -> Message:
    """Read a declaration, a state or a reply, or raise `UpdateError`; numbers are checked at their use."""
    kind = _KINDS[wanted]
    subject = "the server sent" if kind == "state" else "sent"
    values = {**envelope.header, **envelope.arrays}
    if values.pop("kind", None) != kind:
        raise UpdateError(f"{subject} something other than a {kind}")
    try:
        return msgspec.convert(values, wanted, dec_hook=_take_array)
    except (msgspec.ValidationError, TypeError) as error:
        raise UpdateError(f"{subject} a {kind} that cannot be read") from error


def _take_array(wanted: object, value: object) -> np.ndarray:
    dtype = np.float32 if wanted == FloatArray else np.int64
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise TypeError("not an array of this type")
    return np.array(value)


def _name_reply(number: int) -> str:
    return f"reply-{number:06}"


@dataclass(frozen=True, slots=True, eq=False)
class FileExchange:
    """Both ends of the folder; a server has the keys of all sites."""

    folder: Path
    keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def send(self, side: str, site: str, name: str, data: bytes) -> None:
        """Write a message, whole or not at all, or raise `OutputError`."""
        write_whole(self._path(side, site, name), [data])

    def find_latest(self, site: str) -> str | None:
        """Return the name of the newest state for a site."""
        return max((path.stem for path in (self.folder / "to" / site).glob("state-*.msg")), default=None)

    def gather(self, sites: Sequence[str], name: str, timeout_s: float) -> dict[str, Envelope | UpdateError]:
        """Wait for a message of each site, no longer than the limit."""
        found: dict[str, Envelope | UpdateError] = {}
        end = self.clock() + timeout_s
        while True:
            for site in sites:
                path = self._path("from", site, name)
                if site not in found and path.is_file():
                    try:
                        found[site] = open_sealed(read_bytes(path), self.keys[site])
                    except UpdateError as error:
                        found[site] = error
            if len(found) == len(sites) or self.clock() >= end:
                return found
            self.wait(_STEP_S)

    def answer(self, site: SiteRun) -> TrainingState:
        """Answer states as they come for a site, and return the finished one.

        Raises:
            UpdateError: The server was silent too long, or a state does not fit.
            OutputError: The log or a message cannot be written.
        """
        name = site.name
        self.send("from", name, _DECLARATION, site.declare())
        site.say(f"site {name}: declared itself and waits for the server")
        heard, answered = self.clock(), ""
        while True:
            latest = self.find_latest(name)
            if latest is not None and latest != answered:
                state = unpack(site.open(read_bytes(self._path("to", name, latest))), TrainingState)
                heard, answered = self.clock(), latest
                if state.finished:
                    return state
                reply = _name_reply(state.number)
                if not self._path("from", name, reply).is_file():  # else answered before a stop
                    self.send("from", name, reply, site.answer(state))
                    site.say(f"site {name}: answered round {state.number}")
            elif self.clock() - heard > site.patience_s:
                raise UpdateError(f"the server was silent for {site.patience_s:g} s. Start the site again")
            else:
                self.wait(_STEP_S)

    def refuse_earlier_run(self) -> None:
        """Refuse a folder with states of an earlier server."""
        if any(self.find_latest(site) for site in self.keys):
            raise OutputExistsError(
                f"{self.folder}: contains an earlier run",
                remedies=[Remedy("resume", step="resume it with {}"), Remedy(step="use an empty folder")],
            )

    def gather_declarations(self, sites: Sequence[str], timeout_s: float) -> Gathered:
        """Wait for declarations, which sites write without being asked."""
        return self.gather(sites, _DECLARATION, timeout_s)

    def gather_answers(self, state: TrainingState, timeout_s: float) -> Gathered:
        self.publish(state, state.asked)
        return self.gather(state.asked, _name_reply(state.number), timeout_s)

    def publish(self, state: TrainingState, sites: Sequence[str]) -> None:
        """Leave a state in the folder, where the sites may fetch it at any time."""
        for site in sites:
            self.send("to", site, f"state-{state.number:06}", seal(pack(state), self.keys[site]))

    def _path(self, side: str, site: str, name: str) -> Path:
        return self.folder / side / site / f"{name}.msg"


def read_bytes(path: Path, remedy: str = "") -> bytes:
    """Return the bytes of a file, or raise `UnreadableInputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror}){remedy}") from error


def read_key(path: Path) -> bytes:
    """Read a site's key, as from `openssl rand -out east.key 32`, or raise `UnreadableInputError`."""
    key = read_bytes(path, ". Make a key first")
    if len(key) < _LEAST_KEY_BYTES:
        raise UnreadableInputError(
            f"{path}: a key needs at least {_LEAST_KEY_BYTES} bytes. Make a longer one"
        )
    return key
