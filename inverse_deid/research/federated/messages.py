r"""Messages between server and sites: declarations, states and replies, sealed with the site's key.

A message is a header and arrays of numbers::

    "IDF1"   tag: 32 bytes   length of the header: 4 bytes   header: JSON   arrays: raw, little endian

The tag is HMAC-SHA256 of everything after it. The header lists the arrays, whose sizes must fill
the rest to the byte. Nothing is pickled or compressed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

import msgspec
import numpy as np

from inverse_deid.core.errors import UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.federated.selective import IndexArray, Selected
from inverse_deid.research.federated.settings import SharedWay

_MAGIC, _TAG_BYTES = b"IDF1", 32
_DTYPES: Mapping[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "int64": np.dtype("<i8")}
LONGEST_HEADER = 1 << 16
"""In bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """A message.

    Args:
        header: JSON values by name: counts, hashes, names of sites. It holds no text of documents.
        arrays: float32 or int64, by name.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)


def seal(envelope: Envelope, key: bytes) -> bytes:
    """Return the bytes of a message.

    Raises:
        ValueError: An array has another type.
    """
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
    """Read a message after checking who sealed it.

    Raises:
        UpdateError: It was sealed with another key, altered, or damaged.
    """
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
    if length > LONGEST_HEADER:
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


PROTOCOL = 1
"""Raised with every change of the messages."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site declares: hashes and counts, nothing of its documents.

    Args:
        site: Its name.
        version: Of this program.
        network: Hash of the network's configuration and of the layout of its weights.
        training: Hash of how an epoch is trained.
        lexicon: Hash of the dictionaries of the features.
        word_vectors: Hash of the public vocabulary and its vectors.
        n_tokens: Training tokens at the site.
        protocol: Of the exchange.
    """

    site: str
    version: str
    network: str
    training: str
    lexicon: str
    word_vectors: str
    n_tokens: int
    protocol: int = PROTOCOL

    def find_problem(self, wanted: Declaration) -> str | None:
        """Describe in one line why the site cannot take part; None if it can.

        Args:
            wanted: The declaration of another site or of the server.
        """
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


def pack_declaration(declaration: Declaration) -> Envelope:
    """Return a declaration as a message."""
    return Envelope({"kind": "declaration", **msgspec.structs.asdict(declaration)})


def unpack_declaration(envelope: Envelope) -> Declaration:
    """Read a declaration.

    Raises:
        UpdateError: The message is not a declaration.
    """
    header = {name: value for name, value in envelope.header.items() if name != "kind"}
    try:
        return msgspec.convert(header, Declaration)
    except msgspec.ValidationError as error:
        raise UpdateError("sent a declaration that cannot be read") from error


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a server publishes: how far the common training is.

    Args:
        run: Names the run.
        number: Of the round, from 0.
        way: The method.
        epoch: Passes over the documents so far.
        asked: Sites that must answer, in the order of their places.
        order: All sites. A site's place is part of its random seed.
        seed: Of the run.
        finished: The weights are the result, and no site is asked.
        weights: float32 (n_weights,), of the common network.
        counts: int64 (n_weights,), updates of each weight; empty but for *selective*.
    """

    run: str
    number: int
    way: SharedWay
    epoch: int
    asked: tuple[str, ...]
    order: tuple[str, ...]
    seed: int
    finished: bool
    weights: FloatArray = field(repr=False)
    counts: IndexArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What leaves a site after an epoch.

    Args:
        site: Its name.
        run: Of the state that was answered.
        number: Of that state.
        n_tokens: Tokens it trained on; 0 in *selective*, where the server needs no count.
        weights: float32 (n_weights,), all of them; None in *selective*.
        changes: Some of them, in *selective*; None otherwise.
    """

    site: str
    run: str
    number: int
    n_tokens: int
    weights: FloatArray | None = field(default=None, repr=False)
    changes: Selected | None = field(default=None, repr=False)


def pack_state(state: State) -> Envelope:
    """Return a state as a message."""
    names = ("run", "number", "way", "epoch", "asked", "order", "seed", "finished")
    header = {name: getattr(state, name) for name in names}
    return Envelope({"kind": "state", **header}, {"weights": state.weights, "counts": state.counts})


def unpack_state(envelope: Envelope) -> State:
    """Read a state.

    Raises:
        UpdateError: The message is not a state.
    """
    header, arrays = envelope.header, envelope.arrays
    try:
        if header["kind"] != "state" or header["way"] not in get_args(SharedWay):
            raise UpdateError("the server sent something other than a state")
        return State(
            run=str(header["run"]),
            number=int(header["number"]),
            way=header["way"],
            epoch=int(header["epoch"]),
            asked=tuple(map(str, header["asked"])),
            order=tuple(map(str, header["order"])),
            seed=int(header["seed"]),
            finished=bool(header["finished"]),
            weights=np.array(arrays["weights"], np.float32),
            counts=np.array(arrays["counts"], np.int64),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UpdateError("the server sent a state that cannot be read") from error


def pack_reply(reply: Reply) -> Envelope:
    """Return a reply as a message."""
    header = {name: getattr(reply, name) for name in ("site", "run", "number", "n_tokens")}
    arrays: dict[str, np.ndarray] = {}
    if reply.weights is not None:
        arrays["weights"] = reply.weights
    if reply.changes is not None:
        arrays |= {"indices": reply.changes.indices, "values": reply.changes.values}
    return Envelope({"kind": "reply", **header}, arrays)


def unpack_reply(envelope: Envelope) -> Reply:
    """Read a reply; whether its numbers can be used is checked where they are used.

    Raises:
        UpdateError: The message is not a reply.
    """
    header, arrays = envelope.header, envelope.arrays
    try:
        if header["kind"] != "reply":
            raise UpdateError("sent something other than a reply")
        return Reply(
            site=str(header["site"]),
            run=str(header["run"]),
            number=int(header["number"]),
            n_tokens=int(header["n_tokens"]),
            weights=arrays.get("weights"),
            changes=Selected(arrays["indices"], arrays["values"]) if "indices" in arrays else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UpdateError("sent a reply that cannot be read") from error


class Respondent(Protocol):
    """A site as whatever carries its messages sees it."""

    @property
    def name(self) -> str:
        """Of the site."""

    @property
    def patience_s(self) -> float:
        """Seconds without word from the server after which the site gives up."""

    def say(self, line: str, /) -> None:
        """Take a line of progress."""

    def open(self, data: bytes) -> Envelope:
        """Open a message of the server, or raise `UpdateError`."""

    def declare(self) -> bytes:
        """Return the site's declaration, logged and sealed."""

    def answer(self, state: State) -> bytes:
        """Return the answer to a state, logged and sealed."""
