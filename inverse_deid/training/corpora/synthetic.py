"""Documents of every kind invented whole, and identifiers planted into real, unannotated carriers."""

from __future__ import annotations

import dataclasses
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from inverse_deid.core.values import Document
from inverse_deid.training.corpora.surrogates import Move, SurrogateMaker, TextBuilder, hard_wrapped
from inverse_deid.training.corpora.templates import Cast, draw_cast, fill
from inverse_deid.training.corpora.weak_labels import weakly_labelled
from inverse_deid.training.corpora.wordlists import load_lines, read_data

_SENTENCE_END = re.compile(r"(?<=[a-zA-Z)%][.;])\s*(?=[A-Za-z]{2})")
_MATCH = "{0}"
_TRIES = 5


@dataclass(frozen=True, slots=True)
class PlantingSite:
    """A place in a narrative where an identifier fits, and the template to write there.

    An added sentence has `start` = `end`. In the language of `templates.py`, `{0}` is the found text.
    """

    start: int
    end: int
    template: str


def inject(doc: Document, maker: SurrogateMaker, rng: random.Random) -> Document:
    """Plant identifiers with exact spans into a carrier. Its own spans (weak labels) move along."""
    return inject_around(doc, maker, rng).doc


@dataclass(frozen=True, slots=True)
class Injected:
    """A document with planted identifiers, and the copied stretches in order; all else is new."""

    doc: Document
    moves: tuple[Move, ...] = field(repr=False)


def inject_around(
    doc: Document, maker: SurrogateMaker, rng: random.Random, reserved: Sequence[tuple[int, int]] = ()
) -> Injected:
    """Plant identifiers as `inject` does, but not inside or next to reserved ranges of the carrier."""
    cast = draw_cast(rng, maker)
    builder = TextBuilder(_writing_case(doc.text, rng))
    _frame("header", builder, cast, maker)
    position = 0
    for site in _choose_sites(doc, rng, reserved):
        builder.copy(doc, position, site.start)
        before, found, after = site.template.partition(_MATCH)
        fill(before, builder, cast, maker)
        if found:
            builder.copy(doc, site.start, site.end)
        fill(after, builder, cast, maker)
        position = site.end
    builder.copy(doc, position, len(doc.text))
    _frame("footer", builder, cast, maker)
    planted = builder.document(doc.id)
    moved = Document(doc.id, planted.text, planted.spans, meta=doc.meta)
    return Injected(moved, tuple(builder.moves))


def _choose_sites(
    doc: Document, rng: random.Random, reserved: Sequence[tuple[int, int]]
) -> list[PlantingSite]:
    """Choose a few sites, sorted, apart from each other, from existing spans and from reserved ranges."""
    wanted = rng.choice((1, 2, 3, 4)) + len(doc.text) // 700
    candidates = list(_find_sites(doc.text, rng))
    rng.shuffle(candidates)
    inserts = list(_insert_sentences(doc.text, rng))
    taken = [*((span.start, span.end) for span in doc.spans), *reserved]
    chosen: list[PlantingSite] = []
    for site in candidates[: 3 * wanted] + inserts:
        is_free = all(site.end < start or end < site.start for start, end in taken)
        if is_free and (len(chosen) < wanted or site.start == site.end):
            chosen.append(site)
            taken.append((site.start, site.end))
    return sorted(chosen, key=lambda site: site.start)


def _find_sites(text: str, rng: random.Random) -> Iterator[PlantingSite]:
    for regex, templates in _load_site_rules():
        matches = list(regex.finditer(text))
        for match in rng.sample(matches, min(2, len(matches))):
            yield PlantingSite(match.start(), match.end(), rng.choice(templates))


def _insert_sentences(text: str, rng: random.Random) -> Iterator[PlantingSite]:
    style = carrier_style(text)
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    separator = "; " if style == "shorthand" else " "
    for offset in rng.sample(ends, min(len(ends), rng.choice((0, 1, 1, 2, 3)))):
        sentence = rng.choice(load_lines("sentences")[style if rng.random() < 0.6 else "insert"])
        yield PlantingSite(offset, offset, separator + sentence.rstrip())


@cache
def _load_site_rules() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    table = tomllib.loads(read_data("sites.toml"))
    return tuple((re.compile(site["find"]), tuple(site["write"])) for site in table["site"])


def carrier_style(text: str) -> str:
    """Return the list of `sentences.toml` that sounds like the text.

    Example:
        >>> carrier_style("pt recvd vax & devel rash;")
        'shorthand'
    """
    if re.search(
        r"[Ii]nformation (?:has been|was) received|spontaneous|was reported|the subject|reporter", text
    ):
        return "company"
    if re.search(r"(?i)\brecv|p/vax|\bdevel\b|\bw/|inj site|\bpt\b.*;", text):
        return "shorthand"
    return "lay" if re.search(r"\b(?:I|my|My|i)\b", text) else "clinical"


def _writing_case(text: str, rng: random.Random) -> Callable[[str], str]:
    letters = [char for char in text[:2000] if char.isalpha()]
    upper_share = sum(map(str.isupper, letters)) / max(1, len(letters))
    if upper_share > 0.7:
        return str.upper
    return str.lower if upper_share < 0.005 and rng.random() < 0.7 else str


def _frame(kind: str, builder: TextBuilder, cast: Cast, maker: SurrogateMaker) -> None:
    """Write some lines above or below the narrative, in about a third of the documents."""
    rng = maker.rng
    if rng.random() > 0.35:
        return
    lines = rng.sample(load_lines("sentences")[kind], rng.choice((1, 1, 2, 3, 4, 6)))
    separator = rng.choice(("\n", "\n", "\n", "   ", "  |  ", "; ", " "))
    ending = rng.choice(("\n\n", "\n", separator))
    if kind == "footer":
        builder.add(ending)
    for i, line in enumerate(lines):
        builder.add(separator if i else "")
        fill(line.replace("\\n", "\n"), builder, cast, maker)
    if kind == "header":
        builder.add(ending)


def draw_carrier(carriers: Sequence[Document], rng: random.Random) -> Document:
    """Draw a carrier with its certain dates and ages marked, if possible without doubtful ones."""
    for _ in range(_TRIES):
        doc = weakly_labelled(rng.choice(carriers))
        if doc.meta.get("doubtful", "0") == "0":
            break
    return doc


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
