"""Whole invented documents of every kind, from layouts and sentences of our own."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from inverse_deid.core.values import Document
from inverse_deid.training.corpora.building import TextBuilder, hard_wrapped
from inverse_deid.training.corpora.inject import draw_carrier, inject
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.templates import Cast, draw_cast, fill
from inverse_deid.training.corpora.wordlists import load_lines, read_data

_BLOCK = re.compile(r"%% (\w+) (\d+)-(\d+) (\w+)")
_JOINTS = {"inline": " ", "lines": "\n", "semicolon": ";"}
_WRAPPED_SHARE = 0.15
_CASES: dict[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower, "": str}


@dataclass(frozen=True, slots=True)
class Layout:
    """The plan of a kind of document.

    `weight` is how often it is drawn, relative to the others, and `case` is `upper`, `lower` or empty for
    as written. Template lines such as `%% clinical 2-5 inline` are replaced by sentences of a style.
    """

    name: str
    weight: int
    case: str
    lines: tuple[str, ...]


def synthetic_document(rng: random.Random, maker: SurrogateMaker) -> Document:
    """Invent a document with exact spans. `rng` decides its layout and name.

    Example:
        >>> rng = random.Random(0)
        >>> doc = synthetic_document(rng, SurrogateMaker(rng))
        >>> all(doc.text[span.start : span.end].strip() for span in doc.spans)
        True
    """
    layouts = load_layouts()
    layout = rng.choices(layouts, [layout.weight for layout in layouts])[0]
    cast = draw_cast(rng, maker)
    builder = TextBuilder(_CASES[layout.case])
    for i, line in enumerate(layout.lines):
        builder.add("\n" if i else "")
        block = _BLOCK.fullmatch(line)
        if block:
            _sentences(block, builder, cast, maker)
        else:
            fill(line.replace("\\n", "\n"), builder, cast, maker)
    doc = builder.document(f"synthetic-{layout.name}-{rng.getrandbits(48):012x}", layout=layout.name)
    if rng.random() < _WRAPPED_SHARE:
        return dataclasses.replace(doc, text=hard_wrapped(doc.text, rng.randint(50, 90)))
    return doc


def _sentences(block: re.Match[str], builder: TextBuilder, cast: Cast, maker: SurrogateMaker) -> None:
    style, low, high, joint = block.groups()
    templates = load_lines("sentences")[style]
    wanted = min(len(templates), maker.rng.randint(int(low), int(high)))
    for i, template in enumerate(maker.rng.sample(templates, wanted)):
        builder.add(_JOINTS[joint] if i else "")
        fill(template.replace("\\n", "\n"), builder, cast, maker)


@cache
def load_layouts() -> tuple[Layout, ...]:
    """Return the layouts of `layouts.txt`."""
    layouts = []
    for chunk in read_data("layouts.txt").split("=== ")[1:]:
        title, *lines = chunk.rstrip("\n").split("\n")
        name, weight, *case = title.split()
        layouts.append(Layout(name, int(weight), case[0] if case else "", tuple(lines)))
    return tuple(layouts)


def generate_documents(
    n_documents: int, seed: int, *, carriers: Sequence[Document] = (), invented_share: float = 1.0
) -> Iterator[Document]:
    """Generate documents. The same arguments give the same documents, and a longer run starts with them.

    `invented_share` of the documents, in [0, 1], are invented whole (all of them without carriers). The
    others are carriers: narratives without annotation, in which patterns mark certain dates and ages.
    Their unmarked text may still identify.

    Example:
        >>> [doc.id for doc in generate_documents(2, 7)]
        ['synthetic-7-000001', 'synthetic-7-000002']
    """
    rng = random.Random(seed)
    maker = SurrogateMaker(rng)
    for number in range(1, n_documents + 1):
        if rng.random() < invented_share or not carriers:
            doc = synthetic_document(rng, maker)
        else:
            doc = inject(draw_carrier(carriers, rng), maker, rng)
        yield Document(f"synthetic-{seed}-{number:06}", doc.text, doc.spans)
