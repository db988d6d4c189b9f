"""Golden cases a category, with named known failures: nothing regresses or improves silently."""

import re
import tomllib
from pathlib import Path

import pytest

from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.text.tokenizer import tokenize

FOLDER = Path(__file__).parent
CASES = {
    f"{category}.{name}": marked
    for category, cases in tomllib.loads((FOLDER / "cases.toml").read_text(encoding="utf-8")).items()
    for name, marked in cases.items()
}
KNOWN_FAILURES = tomllib.loads((FOLDER / "known_failures.toml").read_text(encoding="utf-8"))
_MARK = re.compile(r"\[\[(.*?)\]\]|<<(.*?)>>")


@pytest.fixture(scope="module", params=["careful", "fast"])
def reading(request):
    return request.param


@pytest.fixture(scope="module")
def deidentifier(reading):
    return build_deidentifier(MaskingSettings(reading=reading))


def parse(marked):
    """The plain text, the ranges that must be masked and those that must be kept."""
    text, ranges, position = "", {"mask": [], "keep": []}, 0
    for match in _MARK.finditer(marked):
        text += marked[position : match.start()]
        inner = match.group(1) or match.group(2)
        ranges["mask" if match.group(1) else "keep"].append((len(text), len(text) + len(inner)))
        text += inner
        position = match.end()
    return text + marked[position:], ranges["mask"], ranges["keep"]


def wrong_tokens(deidentifier, marked):
    text, must_mask, must_keep = parse(marked)
    masked = deidentifier.mask(Document("golden", text))
    tokens = tokenize(text)
    wrong = []
    for i, word in enumerate(tokens.words):
        inside = [(tokens.starts[i] < end and tokens.ends[i] > start) for start, end in must_mask]
        outside = [(tokens.starts[i] < end and tokens.ends[i] > start) for start, end in must_keep]
        if (any(inside) and masked.decisions.keep[i]) or (any(outside) and not masked.decisions.keep[i]):
            wrong.append(word)
    return wrong


@pytest.mark.parametrize("name", CASES)
def test_case(deidentifier, reading, name):
    wrong = wrong_tokens(deidentifier, CASES[name])
    if name in KNOWN_FAILURES[reading]:
        assert wrong, f"{name} is right now: take it out of known_failures.toml"
    else:
        assert not wrong


def test_known_failures_are_cases():
    assert set(CASES) >= {name for names in KNOWN_FAILURES.values() for name in names}
