"""Files with a canary in one place after another: what the tests of all formats of one text share."""

import io
import itertools
from string import ascii_lowercase

from fake_maskers import CANARY


def write_masked(source, masker):
    """Return the bytes that an open file of one document is written as."""
    (record,) = source.records()
    target = io.BytesIO()
    sink = source.sink(target)
    sink.write(record, masker.mask_many(record.docs))
    sink.finish()
    return target.getvalue()


def numbered(word=CANARY):
    """Return a function that gives another word at every call, and those that it gave."""
    given = []

    def give():
        given.append(word + "".join(ascii_lowercase[int(digit)] for digit in f"{len(given):03}"))
        return given[-1]

    return give, given


def only(chosen, otherwise="word"):
    """Return a function that gives the canary at its n-th call only."""
    numbers = itertools.count()
    return lambda: CANARY if next(numbers) == chosen else otherwise


def count_places(hostile):
    """Return in how many places a hostile file has text, and in how many it hides something."""
    (t, texts), (h, hidden) = numbered(), numbered()
    hostile(t, h)
    return len(texts), len(hidden)


def others():
    """Return a function that gives another harmless word at every call."""
    give, _ = numbered()
    return lambda: give().replace(CANARY, "other")
