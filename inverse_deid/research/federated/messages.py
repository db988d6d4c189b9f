r"""What server and sites send each other: a header and arrays of numbers, sealed with the site's key.

::

    "IDF1"   tag: 32 bytes   length of the header: 4 bytes   header: JSON   arrays: raw, little endian

The tag is HMAC-SHA256 of all that follows it. The header lists the arrays, whose sizes must
fill the rest to the byte; nothing is pickled, nothing compressed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inverse_deid.core.errors import UpdateError

_MAGIC, _TAG_BYTES = b"IDF1", 32
_DTYPES: Mapping[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "int64": np.dtype("<i8")}
LONGEST_HEADER = 1 << 16
"""Bytes of a header at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """A message.

    Args:
        header: JSON values by name: counts, hashes, names of sites; no text of documents.
        arrays: float32 or int64, by name.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)


def sealed(envelope: Envelope, key: bytes) -> bytes:
    """The bytes of a message.

    Raises:
        ValueError: An array of another type.
    """
    listed = []
    for name, array in envelope.arrays.items():
        if str(array.dtype) not in _DTYPES:
            raise ValueError(f"{name}: an array of {array.dtype} is not sent")
        listed.append([name, str(array.dtype), list(array.shape)])
    header = json.dumps({**envelope.header, "arrays": listed}).encode()
    body = struct.pack("<I", len(header)) + header
    body += b"".join(
        np.ascontiguousarray(a, _DTYPES[str(a.dtype)]).tobytes() for a in envelope.arrays.values()
    )
    return _MAGIC + _tag(body, key) + body


def opened(data: bytes, key: bytes) -> Envelope:
    """Read a message after checking who sealed it.

    Raises:
        UpdateError: Sealed with another key, altered, or damaged.
    """
    start = len(_MAGIC) + _TAG_BYTES
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or not hmac.compare_digest(data[len(_MAGIC) : start], _tag(body, key)):
        raise UpdateError("sent a message that is damaged or sealed with another key")
    try:
        return _parsed(body)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise UpdateError("sent a message that cannot be read") from error


def _tag(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()


def _parsed(body: bytes) -> Envelope:
    (length,) = struct.unpack_from("<I", body)
    if length > LONGEST_HEADER:
        raise ValueError("the header is too long")
    header = dict(json.loads(body[4 : 4 + length]))
    offset, arrays = 4 + length, {}
    for name, kind, shape in header.pop("arrays"):
        dtype = _DTYPES[kind]
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError("a shape is not one")
        n_numbers = int(np.prod(shape, dtype=object)) if shape else 1
        if offset + n_numbers * dtype.itemsize > len(body):
            raise ValueError("the message is too short")
        arrays[str(name)] = np.frombuffer(body, dtype, n_numbers, offset).reshape(shape)
        offset += n_numbers * dtype.itemsize
    if offset != len(body):
        raise ValueError("the message is too long")
    return Envelope(header, arrays)
