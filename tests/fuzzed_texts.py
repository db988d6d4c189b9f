"""Fuzzed documents: invented texts, changed in every way that a masker could stumble over.

Each document depends on the seed and its index alone, so that any one can be made again.
"""

from __future__ import annotations

import html
import json
import quopri
import random
import re
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from inverse_deid.training.corpora.synthetic import generate_documents

ROOT = Path(__file__).parents[1]
DENIED = "Quimbleworth"
"""Stands on the deny list of the harness."""
ALLOWED = "trenvaxid"
"""Stands on its allow list."""
LONG_CHARACTERS = 100_000
"""About how long the longest documents are."""

_MARKS = re.compile(r"\[\[|\]\]|<<|>>")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")
_N_GENERATED = 300
_SHARE_LONG = 1 / 2000
_SHARE_PATHOLOGICAL = 1 / 300
_SHARE_KNOWN = 0.15
_SHARE_CANARY = 0.4

_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2069\u061c\u180e\U000e0041"
_COMBINING = "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0338\u0489\u064b\u0e34\u20dd\ufe0f\u3099"
_SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\u00a0\u1680\u2000\u2007\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROLS = "".join(map(chr, [*range(32), *range(0x7F, 0xA0)]))
_EMOJI = "😀👩‍⚕️👨🏽‍👩🏽‍👧🏽🇳🇴🩺💊❤️1️⃣#️⃣🄰🅱️ⓙ㊙️♀️☎📞™"
_PUNCTUATION = "".join(c for c in map(chr, range(0x21, 0x7F)) if not c.isalnum()) + "‘’“”–—…·•¿¡«»°±§¶†‡′″‰"
_ZEROS = [0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10, 0x1D7CE, 0x1D7F6, 0x1E950, 0x1FBF0]
_LOOK_ALIKES = str.maketrans("aceopxyABEHKMOPTX", "асеорхуАВЕНКМОРТХ")
_LEET = str.maketrans("aeiostlAEIOST", "4310$714310$7")
_UNITS = (
    "a", "A", "1", "a.", "1.", "a-", "1-", "a/", "1/", "a ", "1 ", "A a ", "a@", "@", ".", "-", "_", "'", "(", "a'", "1,",
    "+1 ", ":", "a:", "www.", "http://", "x=", "name=", "no. ", "Dr. ", "May ", "1/1/", "&#", "%41", "=41", "\n", "é", "e\u0301",
    "\u200b", "\ud800", "\U0001d400", "ß", "İ", "1a", "a1-", "(at)", "[dot]", "Day 1 ", "of ", "Mr", "old ", "mg ", "ǆ", "ﬃ",
)  # fmt: skip
_TITLES = ("Dr.", "Dr", "Mr.", "Mr", "Mrs.", "Ms.", "Prof.", "Miss")
_SURNAMES = ("Okonkwo", "Lindqvist", "Whitfield", "Petrovic", "Abernathy", "Vasquez", "Thorvaldsen", "Adeyemi", "Kowalczyk",
             "Haddad", "Nakamura", "Bhattacharya", "Brzezinski", "Oyelaran", "Fitzgerald", "Marchetti", "Rosenbaum", "Tesfaye")  # fmt: skip
_GIVEN = ("Amara", "Tobias", "Ingrid", "Yusuf", "Nadia", "Piotr", "Chipo", "Mei", "Rafael", "Solveig")


@dataclass(frozen=True)
class Canary:
    """An identifier that was planted whole.

    Args:
        kind: What it is.
        start: Where it begins in the text.
        end: Behind its last character.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class FuzzedText:
    """One fuzzed document.

    Args:
        index: Of the document; with the seed it decides everything.
        text: May hold anything that a `str` can hold.
        known: Known identifiers; each stands in the text as it is.
        canaries: What was planted.
        made_by: The source and the mutators, in order.
    """

    index: int
    text: str = field(repr=False)
    known: tuple[str, ...] = field(repr=False)
    canaries: tuple[Canary, ...]
    made_by: tuple[str, ...]


@lru_cache
def base_texts() -> tuple[list[str], list[str]]:
    """Whole documents and sentences, all invented for this project."""
    golden = tomllib.loads((ROOT / "tests/golden/cases.toml").read_text(encoding="utf-8"))
    sentences = [_MARKS.sub("", marked) for cases in golden.values() for marked in cases.values()]
    lines = (ROOT / "narratives/invented.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line)["text"] for line in lines]
    documents += [doc.text for doc in generate_documents(_N_GENERATED, 27)]
    sentences += [sentence for text in documents for sentence in _SENTENCE_END.split(text) if sentence]
    return documents, sentences


def fuzzed_text(seed: int, index: int) -> FuzzedText:
    """Make one document.

    Example:
        >>> fuzzed_text(1, 7) == fuzzed_text(1, 7)
        True
    """
    rng = random.Random(f"{seed}/{index}")
    source = rng.choices(list(SOURCES), list(_SOURCE_WEIGHTS))[0]
    if rng.random() < _SHARE_PATHOLOGICAL:
        source = "repeated unit"
    text = SOURCES[source](rng)
    made_by = [source]
    for name in rng.choices(list(MUTATORS), k=rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        text = MUTATORS[name](text, rng)
        made_by.append(name)
    if rng.random() < _SHARE_LONG and text:
        text = (text + "\n") * max(1, LONG_CHARACTERS // (len(text) + 1))
        made_by.append("long")
    text, canaries = _with_canaries(text[: 2 * LONG_CHARACTERS], rng)
    known = _known(text, rng) if rng.random() < _SHARE_KNOWN else ()
    return FuzzedText(index, text, known, canaries, tuple(made_by))


def _with_canaries(text: str, rng: random.Random) -> tuple[str, tuple[Canary, ...]]:
    """Plant identifiers between two tokens, or at either end."""
    if rng.random() > _SHARE_CANARY:
        return text, ()
    kind = rng.choice(list(CANARIES))
    planted = CANARIES[kind](rng)
    places = [0, len(text), *(match.end() for match in re.finditer(r"(?<=\w)[ \n]", text))]
    place = rng.choice(places)
    before, after = text[:place], text[place:]
    if before and not before[-1].isspace():
        before += " "
    if after and not after[0].isspace():
        after = " " + after
    return before + planted + after, (Canary(kind, len(before), len(before) + len(planted)),)


def _known(text: str, rng: random.Random) -> tuple[str, ...]:
    """Some values that stand in the text, of one to three tokens."""
    tokens = list(re.finditer(r"[^\W_]+", text))
    if not tokens:
        return ()
    values = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        first = rng.randrange(len(tokens))
        last = min(first + rng.randrange(3), len(tokens) - 1)
        values.append(text[tokens[first].start() : tokens[last].end()])
    return tuple(value for value in values if len(value) <= 60)


def _digits(rng: random.Random, n: int) -> str:
    return str(rng.randrange(1, 10)) + "".join(rng.choices("0123456789", k=n - 1))


CANARIES: dict[str, Callable[[random.Random], str]] = {
    "titled surname": lambda rng: f"{rng.choice(_TITLES)} {rng.choice(_SURNAMES)}",
    "full name": lambda rng: f"{rng.choice(_GIVEN)} {rng.choice(_SURNAMES)}",
    "digits": lambda rng: _digits(rng, rng.randrange(7, 13)),
    "glued digits": lambda rng: rng.choice("ABKMRXabkmrx") + _digits(rng, rng.randrange(7, 11)),
    "parted digits": lambda rng: rng.choice("-/. ").join(_digits(rng, n) for n in (3, 4, 3)),
    "phone": lambda rng: rng.choice(
        [
            f"+{_digits(rng, 2)} {_digits(rng, 2)} {_digits(rng, 4)} {_digits(rng, 4)}",
            f"({_digits(rng, 3)}) {_digits(rng, 3)}-{_digits(rng, 4)}",
            f"{_digits(rng, 3)}-{_digits(rng, 3)}-{_digits(rng, 4)}",
        ]
    ),
    "name joined to an age": lambda rng: (
        f"{rng.randrange(1, 110)}{rng.choice(('', 'm', 'M', 'f', 'F', 'yo', ' mo', 'y', 'm/o', '-year-old', ' days'))}"
        f"{rng.choice('-/.,@_&:+ ')}{rng.choice(_SURNAMES)}"
    ),
    "name joined to a date": lambda rng: (
        f"{rng.choice(_SURNAMES)}{rng.choice('-/.,@_&: ')}{rng.randrange(1, 29)}{rng.choice('-/. ')}"
        f"{rng.choice(('Mar', 'October', '04', 'JAN'))}{rng.choice('-/. ')}{rng.randrange(1940, 2026)}"
    ),
    "e-mail": lambda rng: f"{rng.choice(_GIVEN).lower()}.{rng.choice(_SURNAMES).lower()}@clinic.example",
    "date": lambda rng: rng.choice(
        [
            f"{rng.randrange(1940, 2026)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            f"{rng.randrange(1, 13)}/{rng.randrange(1, 29)}/{rng.randrange(1940, 2026)}",
            f"{rng.randrange(1, 29)} March {rng.randrange(1940, 2026)}",
        ]
    ),
    "web address": lambda rng: f"www.{rng.choice(_SURNAMES).lower()}-clinic.example/{_digits(rng, 5)}",
    "social security number": lambda rng: f"{_digits(rng, 3)}-{_digits(rng, 2)}-{_digits(rng, 4)}",
}


def _base(rng: random.Random) -> str:
    documents, sentences = base_texts()
    if rng.random() < 0.05:
        return rng.choice(documents)[:3000]
    return " ".join(rng.choices(sentences, k=rng.choice((1, 1, 2, 3, 5))))


def _cut(rng: random.Random) -> str:
    text = rng.choice(base_texts()[0])
    start = rng.randrange(len(text))
    return text[start : start + rng.randrange(10, 600)]


def _random_unicode(rng: random.Random) -> str:
    top = rng.choice((0x80, 0x250, 0x3000, 0x10000, 0x110000))
    return "".join(chr(rng.randrange(top)) for _ in range(rng.randrange(200)))


def _repeated_unit(rng: random.Random) -> str:
    return rng.choice(_UNITS) * rng.randrange(100, 4000) + rng.choice(("", "x", "!", " end", "\n"))


SOURCES: dict[str, Callable[[random.Random], str]] = {
    "sentences": _base,
    "cut": _cut,
    "unicode": _random_unicode,
    "latin-1": lambda rng: rng.randbytes(rng.randrange(150)).decode("latin-1"),
    "cp1252": lambda rng: rng.randbytes(rng.randrange(150)).decode("cp1252", "replace"),
    "utf-8 with faults": lambda rng: rng.randbytes(rng.randrange(80)).decode(
        "utf-8", rng.choice(("replace", "surrogateescape"))
    ),
    "punctuation": lambda rng: "".join(rng.choices(_PUNCTUATION + " ", k=rng.randrange(60))),
    "white space": lambda rng: "".join(rng.choices(_SPACES, k=rng.randrange(20))),
    "empty": lambda rng: "",
    "canaries": lambda rng: " ".join(plant(rng) for plant in rng.sample(list(CANARIES.values()), 3)),
    "repeated unit": _repeated_unit,
}
_SOURCE_WEIGHTS = (120, 50, 6, 3, 3, 3, 2, 1, 1, 10, 0)


def _scattered(characters: str, share: float = 0.08) -> Callable[[str, random.Random], str]:
    """Put some of the characters into a text, within words and between them."""

    def scatter(text: str, rng: random.Random) -> str:
        return "".join(c + rng.choice(characters) if rng.random() < share else c for c in text)

    return scatter


def _each_word(
    change: Callable[[str, random.Random], str], share: float = 0.3
) -> Callable[[str, random.Random], str]:
    """Change some of the words."""

    def some(text: str, rng: random.Random) -> str:
        return re.sub(r"\w+", lambda match: change(match[0], rng) if rng.random() < share else match[0], text)

    return some


def _spaces(text: str, rng: random.Random) -> str:
    return re.sub(r"\s", lambda match: rng.choice(_SPACES) * rng.choice((0, 1, 1, 1, 2)), text)


def _case(text: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        return "".join(rng.choice((c.upper(), c.lower())) for c in text)
    return rng.choice((str.upper, str.lower, str.title, str.swapcase, str.casefold))(text)


def _normal(text: str, rng: random.Random) -> str:
    return unicodedata.normalize(rng.choice(("NFD", "NFD", "NFC", "NFKC", "NFKD")), text)


def _truncate(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    return text[start : start + rng.randrange(len(text) + 1)]


def _other_digits(text: str, rng: random.Random) -> str:
    zero = rng.choice(_ZEROS)
    return re.sub(r"[0-9]", lambda match: chr(zero + int(match[0])), text)


def _entities(word: str, rng: random.Random) -> str:
    way = rng.randrange(4)
    if way == 0:
        return "".join(f"&#{ord(c)};" if rng.random() < 0.5 else c for c in word)
    if way == 1:
        return "".join(f"&#x{ord(c):x};" if rng.random() < 0.5 else c for c in word)
    if way == 2:
        return html.escape(word).replace("e", "&eacute;")
    return f"{word[:1]}<b>{word[1:2]}</b><br/>{word[2:]}"


def _encoded(word: str, rng: random.Random) -> str:
    raw = word.encode("utf-8", "surrogatepass")
    way = rng.randrange(3)
    if way == 0:
        return quote(raw, safe="") if rng.random() < 0.5 else "".join(f"%{byte:02X}" for byte in raw)
    if way == 1:
        return quopri.encodestring(raw, quotetabs=True).decode("ascii") + rng.choice(("", "=\n"))
    return "".join(f"={byte:02X}" for byte in raw)


def _styled(word: str, rng: random.Random) -> str:
    start = rng.choice((0x1D400, 0x1D5A0, 0xFF21, 0x24B6))
    return "".join(chr(start + ord(c) - 65) if "A" <= c <= "Z" else c for c in word.upper())


def _mojibake(text: str, rng: random.Random) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    return raw.decode(rng.choice(("latin-1", "cp1252", "utf-16-le", "cp037")), "replace")


def _long_word(text: str, rng: random.Random) -> str:
    word = rng.choice(("a", "Abc", "1", "é", "x1", "\u0660", "𝔸")) * rng.randrange(
        50, rng.choice((200, 200, 20_000))
    )
    place = rng.randrange(len(text) + 1)
    return text[:place] + word + text[place:]


def _shuffled(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    rng.shuffle(words)
    return " ".join(words)


def _glued(text: str, rng: random.Random) -> str:
    return re.sub(r"(?<=\w) (?=\w)", lambda match: "" if rng.random() < 0.4 else match[0], text)


def _listed(text: str, rng: random.Random) -> str:
    ways = (
        DENIED,
        DENIED.upper(),
        ALLOWED,
        ALLOWED.title(),
        ALLOWED + "7",
        ALLOWED + "@clinic.example",
        f"Mr. {ALLOWED.title()}",
    )
    return re.sub(r" ", lambda match: f" {rng.choice(ways)} ", text, count=2)


MUTATORS: dict[str, Callable[[str, random.Random], str]] = {
    "random characters": lambda text, rng: _scattered(_random_unicode(rng) or "?", 0.05)(text, rng),
    "invisible characters": _scattered(_INVISIBLE),
    "combining marks": _scattered(_COMBINING),
    "control characters": _scattered(_CONTROLS, 0.04),
    "emoji": _scattered(_EMOJI, 0.03),
    "lone surrogates": _scattered("\ud800\udbff\udc00\udfff", 0.02),
    "punctuation": _scattered(_PUNCTUATION, 0.06),
    "digits between": _scattered("0123456789", 0.04),
    "underscores": _scattered("_", 0.1),
    "normal form": _normal,
    "white space": _spaces,
    "case": _case,
    "truncated": _truncate,
    "doubled": lambda text, rng: text + rng.choice(("", " ", "\n", "\n\n")) + text,
    "joined": lambda text, rng: text + rng.choice(("", " ", "\n", ". ", "\x00")) + _base(rng),
    "other digits": _other_digits,
    "entities and tags": _each_word(_entities),
    "encoded": _each_word(_encoded),
    "look-alikes": _each_word(lambda word, rng: word.translate(_LOOK_ALIKES), 0.5),
    "styled letters": _each_word(_styled),
    "leet": _each_word(lambda word, rng: word.translate(_LEET)),
    "interrupted": _each_word(lambda word, rng: rng.choice("./,- _'|*").join(word)),
    "reversed words": _each_word(lambda word, rng: word[::-1]),
    "mojibake": _mojibake,
    "long word": _long_word,
    "shuffled": _shuffled,
    "glued": _glued,
    "markers": lambda text, rng: re.sub(r"\w+", rng.choice(("PHI", "[NAME]", "□")), text, count=3),
    "reversed": lambda text, rng: text[::-1],
    "listed words": _listed,
    "no line breaks": lambda text, rng: text.replace("\n", rng.choice(("", " ", "\r", "\r\n"))),
}
