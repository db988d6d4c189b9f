"""Texts that attack the masker: invented sentences of 66 kinds, alone and inside clean narratives.

The texts are in `tests/golden/attacks/*.toml`: each key is a kind, each value a list of texts in which
`⟦Grace|NAME⟧` marks an identifier and its type. `clean.txt` has clinical sentences without any
identifier, one per line.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.pipeline import Deidentifier
from inverse_deid.text.tokenizer import tokens_touched

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "attacks"
FLOORS = "floors.toml"
Form = Literal["alone", "long"]
FORMS: tuple[Form, ...] = ("alone", "long")
SYSTEMS: Mapping[str, MaskingSettings] = {
    "careful": MaskingSettings(reading="careful", n_threads=1),
    "fast": MaskingSettings(reading="fast", n_threads=1),
    "fast-strict": MaskingSettings(reading="fast", operating_point="strict", n_threads=1),
}
"""The settings that are measured, by name."""

TYPES = frozenset({"NAME", *PhiType})
"""Types of marks: those of the package, and NAME for any person."""

KINDS = tuple(
    """after-drug age-over-89-words age-writing bare-object bare-subject broken-name caps-word-name chat
    company-staff coordinates date-codes date-foreign date-odd date-partial device doctor-word
    double-barrelled-words drug-first-name email-thread employer-word encoded eponym-person glued-sign
    hospital-word id-code id-near-lot id-number initials-odd letter-person long-token lower-rare-name
    lower-word-name markup mojibake-name name-list nation-name nickname ocr-lower ocr-name particle-name
    path-host pet phone-transcript plate plural-genitive profession profession-phrase rare-event
    relative-word role-surname room script script-greek ship-team signature sms story street-word structured
    surname-first table town-word trial-odd-number typo-repeat username wrapped-letter""".split()  # noqa: SIM905 - one kind per line is harder to read
)

BAR = 0.95
_BARRED = ("coordinates", "trial-odd-number", "path-host", "plate", "username", "room", "encoded")
_BARRED_FAMILIES = ("age-", "date-", "id-")
WITH_BAR = frozenset(
    kind for kind in KINDS if kind in (*_BARRED, "phone-transcript") or kind.startswith(_BARRED_FAMILIES)
)
"""Kinds of which the recall must reach `BAR`; all others are only measured."""

MOST_CLEAN_MASKED = 0.005
"""Share of the tokens of clean sentences that may be masked by default."""

_MARK = re.compile(r"⟦([^⟦⟧|]*)\|([A-Z-]+)⟧")
_CAPITALS = "caps-"
_WRAPPED = "wrapped-letter"
_WIDTH = 68
_FEWEST_AROUND, _MOST_AROUND = 8, 12
_BATCH = 256


@dataclass(frozen=True, slots=True)
class AttackText:
    """A text and the half-open ranges of its identifiers.

    Args:
        id: `KIND-NNNN`, unique within a form.
        form: Alone, or inside clean sentences.
        ranges: Sorted and disjoint, code points.
        types: One per range.
    """

    id: str
    form: Form
    text: str = field(repr=False)
    ranges: tuple[tuple[int, int], ...]
    types: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind that the id names."""
        return self.id.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Recall:
    """How many marked tokens there are, and how many are masked."""

    n_tokens: int
    masked: int

    @property
    def share(self) -> float | None:
        """Share of marked tokens that are masked, `None` without any."""
        return self.masked / self.n_tokens if self.n_tokens else None


def read_marks(marked: str, where: str) -> tuple[str, tuple[tuple[int, int], ...], tuple[str, ...]]:
    """Take the marks out of a text.

    Args:
        marked: The text with its marks.
        where: Names the text in errors.

    Returns:
        The text, the ranges of its identifiers and their types.

    Raises:
        ValueError: A mark is malformed, has an unknown type, or there is none.

    Example:
        >>> read_marks("Statin hurt ⟦Guy|NAME⟧.", "example")
        ('Statin hurt Guy.', ((12, 15),), ('NAME',))
    """
    parts, ranges, types = [], [], []
    length = position = 0
    for match in _MARK.finditer(marked):
        before = marked[position : match.start()]
        start = length + len(before)
        length = start + len(match[1])
        parts += [before, match[1]]
        ranges.append((start, length))
        types.append(match[2])
        position = match.end()
    text = "".join([*parts, marked[position:]])
    if not ranges or any(start == end for start, end in ranges) or "⟦" in text or "⟧" in text:
        raise ValueError(f"{where}: a mark is missing or malformed. Write ⟦identifier|TYPE⟧")
    if unknown := sorted(set(types) - TYPES):
        raise ValueError(
            f"{where}: unknown types {', '.join(unknown)}. Use one of {', '.join(sorted(TYPES))}"
        )
    return text, tuple(ranges), tuple(types)


def read_clean_sentences(folder: Path = FOLDER) -> list[str]:
    """Return the sentences without identifiers."""
    return (folder / "clean.txt").read_text("utf-8").splitlines()


def read_marked_texts(folder: Path = FOLDER) -> dict[str, list[str]]:
    """Return the texts of each kind with their marks.

    Raises:
        ValueError: A kind is unknown, or is in two files.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.toml")):
        if path.name == FLOORS:
            continue
        for kind, texts in tomllib.loads(path.read_text("utf-8")).items():
            if kind not in KINDS or kind in found:
                raise ValueError(f"{path.name}: the kind {kind} is unknown or also in another file")
            found[kind] = texts
    return {kind: found[kind] for kind in KINDS if kind in found}


def read_attacks(folder: Path = FOLDER) -> list[AttackText]:
    """Return all texts, each alone and inside clean sentences."""
    clean = read_clean_sentences(folder)
    attacks = []
    for kind, texts in read_marked_texts(folder).items():
        for number, marked in enumerate(texts, 1):
            id_ = f"{kind}-{number:04d}"
            for form in FORMS:
                written = marked if form == "alone" else _place_inside(id_, marked, clean)
                attacks.append(AttackText(id_, form, *read_marks(written, id_)))
    return attacks


def _place_inside(id_: str, marked: str, clean: Sequence[str]) -> str:
    """Put a text between 8 to 12 clean sentences, all of which follow from its id.

    A text of several lines keeps lines of its own. Texts of the kind `caps-word-name` get capitals around
    them, and clean sentences around a wrapped letter are wrapped.
    """
    if len(clean) < _MOST_AROUND:
        raise ValueError(f"clean.txt has {len(clean)} sentences. Write at least {_MOST_AROUND}")
    order = sorted(range(len(clean)), key=lambda i: sha256(f"{id_} {i}".encode()).digest())
    digest = sha256(id_.encode()).digest()
    around = [clean[i] for i in order[: _FEWEST_AROUND + digest[0] % (_MOST_AROUND - _FEWEST_AROUND + 1)]]
    n_before = 3 + digest[1] % (len(around) - 5)
    before, after = " ".join(around[:n_before]), " ".join(around[n_before:])
    if id_.startswith(_CAPITALS):
        before, after = before.upper(), after.upper()
    if id_.startswith(_WRAPPED):
        before, after = (textwrap.fill(part, _WIDTH) for part in (before, after))
    separator = "\n" if "\n" in marked else " "
    return separator.join([before, marked, after])


def mask_texts(deidentifier: Deidentifier, texts: Sequence[str]) -> Iterable[MaskedDocument]:
    """Mask texts in batches, in their order.

    Raises:
        RuntimeError: A text could not be read and was masked as a whole, which is not recall.
    """
    for first in range(0, len(texts), _BATCH):
        batch = texts[first : first + _BATCH]
        docs = [Document(str(first + i), text) for i, text in enumerate(batch)]
        for doc in deidentifier.mask_many(docs):
            if doc.failed:
                raise RuntimeError(f"text {doc.id} failed and was masked as a whole. Mend the masker")
            yield doc


def measure_recall(
    deidentifier: Deidentifier, attacks: Sequence[AttackText]
) -> dict[tuple[str, Form], Recall]:
    """Return the recall of every kind and form.

    A token is marked if it shares a character with a range, and masked if it is not kept.
    """
    n_tokens: Counter[tuple[str, Form]] = Counter()
    hits: Counter[tuple[str, Form]] = Counter()
    masked = mask_texts(deidentifier, [attack.text for attack in attacks])
    for attack, doc in zip(attacks, masked, strict=True):
        marked = tokens_touched(doc.tokens, attack.ranges)
        n_tokens[attack.kind, attack.form] += int(marked.sum())
        hits[attack.kind, attack.form] += int((marked & ~np.asarray(doc.decisions.keep)).sum())
    return {key: Recall(n, hits[key]) for key, n in n_tokens.items()}


def measure_clean(deidentifier: Deidentifier, sentences: Sequence[str], n_together: int = 1) -> Recall:
    """Return how many tokens of clean sentences there are, and how many are masked.

    Args:
        deidentifier: Masks them.
        sentences: Without identifiers.
        n_together: Sentences per document.
    """
    docs = [" ".join(sentences[first : first + n_together]) for first in range(0, len(sentences), n_together)]
    keeps = [np.asarray(doc.decisions.keep) for doc in mask_texts(deidentifier, docs)]
    return Recall(sum(map(len, keeps)), int(sum((~keep).sum() for keep in keeps)))


def read_floors(folder: Path = FOLDER) -> dict[str, dict[str, dict[Form, float]]]:
    """Return the recorded recall of each kind and form, by system."""
    path = folder / FLOORS
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
