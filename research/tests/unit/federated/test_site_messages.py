"""Messages: read back as they were, and refused when anybody touched them."""

import numpy as np
import pytest

from inverse_deid.core.errors import OutputError, UnreadableInputError, UpdateError
from inverse_deid_research.federated.messages import Envelope, FileExchange, open_sealed, read_key, seal
from inverse_deid_research.federated.site import LeavingLog

KEY = b"east key of the test, 32 bytes.."


@pytest.fixture
def envelope():
    arrays = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "counts": np.array([1, 2], np.int64)}
    return Envelope({"kind": "reply", "number": 3}, arrays)


def test_a_message_is_read_as_it_was_written(envelope):
    found = open_sealed(seal(envelope, KEY), KEY)
    assert found.header == {"kind": "reply", "number": 3}
    assert {name: array.tolist() for name, array in found.arrays.items()} == {
        "weights": [[0, 1, 2], [3, 4, 5]],
        "counts": [1, 2],
    }


def test_any_changed_byte_is_found(envelope):
    data = seal(envelope, KEY)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(UpdateError):
            open_sealed(bytes(changed), KEY)


@pytest.mark.parametrize("change", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"", lambda d: d[:10]])
def test_a_cut_or_longer_message_is_refused(envelope, change):
    with pytest.raises(UpdateError):
        open_sealed(change(seal(envelope, KEY)), KEY)


def test_another_key_is_refused(envelope):
    with pytest.raises(UpdateError, match="another key"):
        open_sealed(seal(envelope, b"west"), KEY)


@pytest.mark.parametrize(
    "arrays",
    [
        [["weights", "float32", [1000000000000]]],
        [["weights", "float32", [-1]]],
        [["weights", "float64", [1]]],
        [["weights", "float32", [0]]],
        [["weights", "float32"]],
        "no list",
    ],
)
def test_a_sealed_lie_about_the_arrays_is_refused(arrays):
    import json
    import struct

    from inverse_deid_research.federated import messages

    header = json.dumps({"kind": "reply", "arrays": arrays}).encode()
    body = struct.pack("<I", len(header)) + header + b"\0" * 4
    with pytest.raises(UpdateError, match="cannot be read"):
        open_sealed(b"IDF1" + messages._tag(body, KEY) + body, KEY)


def test_nothing_but_numbers_is_sent():
    with pytest.raises(ValueError, match="not sent"):
        seal(Envelope({}, {"words": np.array(["Okonkwo"])}), KEY)


def test_waiting_ends(tmp_path, envelope):
    now = [0.0]

    def wait(n_seconds):
        now[0] += n_seconds

    exchange = FileExchange(tmp_path, {"east": KEY, "west": KEY}, wait, lambda: now[0])
    exchange.send("from", "east", "reply-000003", seal(envelope, KEY))
    assert list(exchange.gather(["east", "west"], "reply-000003", 5)) == ["east"]
    assert 5 <= now[0] < 6


def test_a_message_of_another_key_is_an_answer_that_cannot_be_used(tmp_path, envelope):
    exchange = FileExchange(tmp_path, {"east": KEY})
    exchange.send("from", "east", "reply-000003", seal(envelope, b"a thief's"))
    assert isinstance(exchange.gather(["east"], "reply-000003", 1)["east"], UpdateError)


def test_the_newest_state_counts(tmp_path):
    exchange = FileExchange(tmp_path, {"east": KEY})
    assert exchange.find_latest("east") is None
    for number in (0, 9, 10):
        exchange.send("to", "east", f"state-{number:06}", b"x")
    assert exchange.find_latest("east") == "state-000010"


def test_a_key_must_be_long_enough(tmp_path):
    (tmp_path / "east.key").write_bytes(b"short")
    with pytest.raises(UnreadableInputError, match="16 bytes"):
        read_key(tmp_path / "east.key")


def test_the_log_says_what_left_and_when(tmp_path, envelope):
    from datetime import UTC, datetime

    log = LeavingLog(tmp_path / "private" / "leaving.log", lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    log.write(envelope, b"12345", "the server")
    log.write(envelope, b"12345", "the server")
    lines = (tmp_path / "private" / "leaving.log").read_text().splitlines()
    assert len(lines) == 2
    for words in (
        "2026-03-01T12:00:00+00:00 to the server",
        "round 3",
        "weights: 6 numbers, norm 7.416, largest 5",
        "5 bytes",
        "sha256",
    ):
        assert words in lines[0]


def test_what_cannot_be_noted_is_an_error(tmp_path, envelope):
    (tmp_path / "private").write_text("no folder")
    with pytest.raises(OutputError, match="Nothing was sent"):
        LeavingLog(tmp_path / "private" / "leaving.log").write(envelope, b"", "the server")
