"""Files of released text that wait to be sent."""

import random
import tempfile
import zipfile

import pytest
from fake_maskers import CANARY

from inverse_deid.review.files.spool import open_spool


@pytest.fixture
def written(monkeypatch):
    """All bytes that a temporary file had."""
    found = []
    real = tempfile.SpooledTemporaryFile

    class Noting(real):
        def write(self, data):
            found.append(bytes(data))
            return super().write(data)

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Noting)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_it_reads_and_writes_as_a_file_does(seed):
    dice = random.Random(seed)
    with open_spool(0) as file, tempfile.TemporaryFile() as other:
        size = 0
        for _ in range(60):
            place, data = dice.randint(0, size), dice.randbytes(dice.choice([1, 5000, 1_100_000]))
            for one in (file, other):
                one.seek(place)
                one.write(data)
            size = max(size, place + len(data))
            place, n = dice.randint(0, size), dice.choice([3, 200_000, -1])
            file.seek(place)
            other.seek(place)
            assert file.read(n) == other.read(n)
            assert file.tell() == other.tell()


def test_what_is_on_the_disk_does_not_show_the_text(written):
    text = f"seen by {CANARY} today. ".encode() * 100_000
    with open_spool(0) as file:
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr("cases.txt", text)
        file.seek(0)
        with zipfile.ZipFile(file) as packed:
            assert packed.read("cases.txt") == text
    on_disk = b"".join(written)
    assert len(on_disk) > 1_000_000
    assert CANARY.encode() not in on_disk
    assert b"cases.txt" not in on_disk
