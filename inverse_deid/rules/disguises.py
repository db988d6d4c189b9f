"""Identifiers that are encoded, interrupted or glued: what a dictionary and a network cannot read.

Each of these rules may only mask. None is a feature of the network, so that a trained network reads
ordinary text as it was trained. A word is masked if a character that may not leave touches it, if an
encoded letter or a tag stands inside it, if its letters are parted, or if it is a name in disguise.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html.entities import html5
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.shapes import is_glued_quantity
from inverse_deid.text.alignment import tokens_touched
from inverse_deid.text.gaps import ALLOWED_GAP_CHARACTERS
from inverse_deid.text.joined import JoinedTokens

Flags = npt.NDArray[np.uint32]
_NAME = WordFlag.SURNAME | WordFlag.FIRST_NAME
_CLINICAL = WordFlag.SHORTHAND | WordFlag.MEDICAL | WordFlag.DRUG | WordFlag.STOP_WORD | WordFlag.UNIT
_MIN_NAME = 4
_TABLE_SIZE = 0x3000


def _table(characters: Iterable[str]) -> BoolArray:
    """bool (_TABLE_SIZE,): which characters are among these; the last entry stands for all above."""
    table = np.zeros(_TABLE_SIZE, np.bool_)
    table[[ord(character) for character in characters]] = True
    return table


_ALLOWED = _table(ALLOWED_GAP_CHARACTERS)


def disguised_tokens(tokens: JoinedTokens, flags: Flags, lexicon: Lexicon) -> BoolArray:
    """Which tokens a disguise makes unreadable: bool (n_tokens,).

    Args:
        tokens: Of several documents; none knows of another.
        flags: uint32 (n_tokens,), what the dictionaries say of each.
        lexicon: Knows the words that the pieces make.

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> from inverse_deid.text.joined import join
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> tokens = join([tokenize("Ok&#111;nkwo took 5 mg")])
        >>> disguised_tokens(tokens, np.zeros(6, np.uint32), load_lexicon()).astype(int).tolist()
        [1, 1, 1, 0, 0, 0]
    """
    if not len(tokens):
        return np.zeros(0, np.bool_)
    before = np.minimum(tokens.codes[tokens.starts - 1], _TABLE_SIZE - 1)
    behind = np.minimum(tokens.codes[tokens.ends], _TABLE_SIZE - 1)
    beside_forbidden = ~(_ALLOWED[before] & _ALLOWED[behind])
    words = _Words(lexicon)
    ranges = [*_encoded_ranges(tokens, words), *_spelled_ranges(tokens, words)]
    ranges += [*_interrupted_ranges(tokens, flags, words), *_leet_ranges(tokens, words)]
    return beside_forbidden | _owners(tokens, flags) | tokens_touched(tokens, ranges)


class _Words:
    """Asks the dictionaries about words that stand nowhere as one token."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def are_safe(self, pieces: Sequence[str]) -> bool:
        """Whether every piece is a word of three letters or more that may be let back."""
        return all(len(p) >= 3 and bool(self._lexicon.flags(p) & SAFE_FLAGS) for p in pieces)

    def is_name(self, word: str) -> bool:
        """Whether a word is a first name or a surname."""
        return len(word) >= 3 and bool(self._lexicon.flags(word) & _NAME)

    def is_only_name(self, word: str) -> bool:
        """Whether it is a name and no word that may be let back."""
        found = self._lexicon.flags(word)
        return len(word) >= 3 and bool(found & _NAME) and not found & SAFE_FLAGS

    def is_known(self, word: str) -> bool:
        """Whether a list of safe words holds it."""
        return bool(self._lexicon.flags(word) & SAFE_FLAGS)

    def is_clinical(self, word: str) -> bool:
        """Whether it is a word of medicine or grammar, shorthand included."""
        return bool(self._lexicon.flags(word) & _CLINICAL)


# ---------------------------------------------------------------------------- encoded letters and tags

_HEX = r"[0-9a-fA-F]"
_MARK = re.compile(
    r"(?P<tag><(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,200}--)>|&lt;/?[A-Za-z][^<>&]{0,200}&gt;)"
    r"|(?P<entity>&(?:amp;){0,3}(?:#\d{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};))"
    rf"|(?P<percent>%(?:25){{0,3}}{_HEX}{{2}})"
    r"|(?P<mime>=\?[\w-]{1,40}\?[bBqQ]\?[^?\s]{0,200}\?=)"
    r"|(?P<quoted>=(?:[0-9A-F]{2}|\r?\n))"
    rf"|(?P<escape>\\(?:u{_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}|x{_HEX}{{2}}|U{_HEX}{{8}}|[0-7]{{3}}))"
)
_MARK_SIGNS = {"&": r"[A-Za-z#]", "<": r"[A-Za-z/!]", "%": _HEX, "=": r"[0-9A-F?\r\n]", "\\": r"[uxU0-7]"}
_BEGINS_MARK = np.zeros((0x80, 0x80), np.bool_)
for _sign, _next in _MARK_SIGNS.items():
    _BEGINS_MARK[ord(_sign), [code for code in range(0x80) if re.match(_next, chr(code))]] = True
_BEGINNERS = np.array([ord(sign) for sign in _MARK_SIGNS], np.uint32)
_IS_BEGINNER = np.isin(np.arange(0x80), _BEGINNERS)
_WORD = re.compile(r"[^\W_]*")
_TAG_NAME = re.compile(r"(?:<|&lt;)/?([A-Za-z][A-Za-z0-9]*)")
_BLOCK_TAGS = frozenset("p br div li ul ol tr td th table hr h1 h2 h3 h4 h5 h6 section article".split())
_SEEN = 40
_ENDINGS = frozenset("s t d m re ve ll S T D M RE VE LL".split())
"""What follows the apostrophe of `patient's` and `don't`."""


class _Mark(NamedTuple):
    """An encoding or a tag: where it stands, how it is written and what it means."""

    start: int
    end: int
    kind: str
    decoded: str
    source: str

    @property
    def is_letter(self) -> bool:
        return any(c.isalnum() and c not in "ªºµ" for c in self.decoded)

    @property
    def is_invisible(self) -> bool:
        return any(not c.isalnum() and c not in ALLOWED_GAP_CHARACTERS for c in self.decoded)


class _Run(NamedTuple):
    """Words and marks that nothing else parts; there is one more word than marks, and words may be empty."""

    words: list[str]
    marks: list[_Mark]

    @property
    def start(self) -> int:
        return self.marks[0].start - len(self.words[0])

    @property
    def end(self) -> int:
        return self.marks[-1].end + len(self.words[-1])

    def seen(self) -> Iterator[tuple[int, str, str]]:
        """Each mark's number, and what a reader sees right before and behind it, at most `_SEEN` characters."""
        text = "".join(w + m.decoded for w, m in zip(self.words, self.marks, strict=False)) + self.words[-1]
        begin = 0
        for number, mark in enumerate(self.marks):
            begin += len(self.words[number])
            end = begin + len(mark.decoded)
            yield number, text[max(0, begin - _SEEN) : begin], text[end : end + _SEEN]
            begin = end


def _encoded_ranges(tokens: JoinedTokens, words: _Words) -> Iterator[tuple[int, int]]:
    """Where encoded letters or tags stand inside words."""
    low = np.minimum(tokens.codes, 0x7F)
    places = np.flatnonzero(_IS_BEGINNER[low])
    places = places[_BEGINS_MARK[low[places], low[np.minimum(places + 1, len(low) - 1)]]]
    if not len(places):
        return
    by_doc: dict[int, list[int]] = defaultdict(list)
    docs = np.searchsorted(tokens.offsets, places, side="right") - 1
    for doc, place in zip(docs.tolist(), places.tolist(), strict=True):
        by_doc[doc].append(place - int(tokens.offsets[doc]))
    for doc, starts in by_doc.items():
        offset = int(tokens.offsets[doc])
        for run in _runs(tokens.docs[doc].text, starts):
            if _hides(run, words):
                yield run.start + offset, run.end + offset


def _runs(text: str, places: Sequence[int]) -> Iterator[_Run]:
    """The runs of words and marks of a text, given where marks may begin."""
    run: _Run | None = None
    end = 0
    for place in places:
        mark = _mark_at(text, place) if place >= end else None
        if mark is None:
            continue
        end = mark.end
        behind = _WORD.match(text, mark.end).group()  # type: ignore[union-attr]
        if run is not None and run.end == mark.start:
            run.marks.append(mark)
            run.words.append(behind)
            continue
        if run is not None:
            yield run
        first = mark.start
        stop = run.end if run is not None else 0
        while first > stop and text[first - 1].isalnum():
            first -= 1
        run = _Run([text[first : mark.start], behind], [mark])
    if run is not None:
        yield run


def _mark_at(text: str, place: int) -> _Mark | None:
    match = _MARK.match(text, place)
    if match is None or match.lastgroup is None:
        return None
    decoded = _decode(match.lastgroup, match.group())
    if decoded is None:
        return None
    return _Mark(match.start(), match.end(), match.lastgroup, decoded, match.group())


def _decode(kind: str, source: str) -> str | None:
    """What an encoding stands for; None = it is no encoding."""
    if kind == "entity":
        return _decode_entity(source.rstrip(";").rpartition("&")[2].rpartition("amp;")[2] or "amp")
    if kind in ("tag", "mime") or source[1:].isspace():
        return ""
    digits = source[-2:] if kind == "percent" else source.lstrip("=\\uxU{").rstrip("}")
    return _character(int(digits, 8 if kind == "escape" and source[1].isdigit() else 16))


def _decode_entity(name: str) -> str | None:
    if not name.startswith("#"):
        return html5.get(f"{name};")
    return _character(int(name[2:], 16) if name[1] in "xX" else int(name[1:]))


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"


def _hides(run: _Run, words: _Words) -> bool:
    """Whether a reader would see a word that the rules and the network do not."""
    return any(_mark_hides(run, number, sides, words) for number, *sides in run.seen())


def _mark_hides(run: _Run, number: int, sides: Sequence[str], words: _Words) -> bool:
    mark = run.marks[number]
    before, behind = sides
    if mark.kind == "mime":
        return True
    if mark.kind == "tag":
        return _tag_hides(mark, before, behind, words)
    if mark.kind == "quoted":
        return _quoted_hides(run, number, before + mark.decoded + behind, words)
    if mark.kind == "percent" and len(run.marks) == 1 and before[-1:].isdigit():
        return False
    if mark.is_invisible:
        return bool(before or behind)
    if mark.is_letter:
        return _letter_hides(mark, before, behind)
    return _joins_unsafe(mark, before, behind, words)


def _letter_hides(mark: _Mark, before: str, behind: str) -> bool:
    """An encoded letter beside others; `IFN&gamma;` and `5 &micro;g` are as good as plain."""
    if not any(c.isalnum() for c in before + behind):
        return False
    is_greek = all("\u0370" <= c <= "\u03ff" for c in mark.decoded)
    return not (is_greek and not (before[-1:].isalpha() and behind[:1].isalpha()))


def _joins_unsafe(mark: _Mark, before: str, behind: str, words: _Words) -> bool:
    """An encoded sign or space between words of which one is not safe, as in `O&#39;Brien`."""
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return False
    if mark.decoded in "'’‘`´" and behind in _ENDINGS:
        return False
    left, right = _last_word(before), _first_word(behind)
    if words.are_safe([left, right]):
        return False
    return len(left) + len(right) >= _MIN_NAME and not words.is_clinical(left + right)


def _first_word(text: str) -> str:
    return _WORD.match(text).group()  # type: ignore[union-attr]


def _last_word(text: str) -> str:
    return _first_word(text[::-1])[::-1]


def _tag_hides(mark: _Mark, before: str, behind: str, words: _Words) -> bool:
    """A tag inside a word; `H<sub>2</sub>O` and `rash<br>fever` are none."""
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return False
    match = _TAG_NAME.match(mark.source)
    name = match.group(1).lower() if match else ""
    if name in ("sub", "sup") or (name in _BLOCK_TAGS and not behind[0].islower()):
        return False
    left, right = _last_word(before), _first_word(behind)
    return not words.are_safe([left, right]) or words.is_only_name(left + right)


def _quoted_hides(run: _Run, number: int, read: str, words: _Words) -> bool:
    """Quoted-printable: `Jos=C3=A9`, `Ok=6Fnkwo`, a word broken by `=` at the end of a line.

    `HR=80`, `dose=50mg` and `stage=2B` are values, not letters.
    """
    mark = run.marks[number]
    left, right = run.words[number], run.words[number + 1]
    if not mark.decoded:
        apart = words.are_safe([left, right]) and not words.is_only_name(left + right)
        return left[-1:].isalpha() and right[:1].isalpha() and not apart
    if not mark.decoded.isalpha() or 0x7A < ord(mark.decoded) < 0xC0:
        return False
    near = run.marks[max(0, number - 1) : number + 2]
    if any(a.end == b.start and _is_coded_letter(a) and _is_coded_letter(b) for a, b in pairwise(near)):
        return True
    if words.is_name(read) and len(read) > _MIN_NAME:
        return True
    if right[:1].isalpha():
        digits = mark.source[1:]
        return not (digits.isdigit() and (is_glued_quantity(digits + right) or words.are_safe([right])))
    return bool(left[-1:].isalpha()) and ord(mark.decoded) >= 0xE0


def _is_coded_letter(mark: _Mark) -> bool:
    return mark.kind == "quoted" and mark.decoded != "" and (mark.decoded.isalpha() or ord(mark.decoded) >= 0x80)


# --------------------------------------------------------------------------------- letters that are parted

_MAX_GAP = 4
_WHITE_SPACE = re.compile(r"\s+")
_LIST_SIGNS = frozenset([",", ", ", "/", " / ", " & ", "&", "+", " + ", ";", "; "])


def _spelled_ranges(tokens: JoinedTokens, words: _Words) -> Iterator[tuple[int, int]]:
    """Where a word is written letter by letter, whatever parts the letters."""
    single = tokens.ends - tokens.starts == 1
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    pair = single[1:] & single[:-1] & (gaps <= _MAX_GAP) & (tokens.doc[1:] == tokens.doc[:-1])
    if len(pair) < 2:
        return
    triples = np.flatnonzero(pair[1:] & pair[:-1]).tolist()
    done = 0
    for first in triples:
        if first < done:
            continue
        last = first + 1
        while last < len(pair) and pair[last]:
            last += 1
        done = last + 1
        yield from _spelled_in(tokens, first, last, words)


def _gap(tokens: JoinedTokens, left: int) -> str:
    """What parts a token from the next, any white space as one space."""
    doc = int(tokens.doc[left])
    offset = int(tokens.offsets[doc])
    between = tokens.docs[doc].text[int(tokens.ends[left]) - offset : int(tokens.starts[left + 1]) - offset]
    return _WHITE_SPACE.sub(" ", between)


def _spelled_in(tokens: JoinedTokens, first: int, last: int, words: _Words) -> Iterator[tuple[int, int]]:
    """The words spelled by a row of single letters, tokens first to last, wherever one sign parts them."""
    signs = [_gap(tokens, i) for i in range(first, last)]
    begin = 0
    while begin < len(signs):
        end = begin
        while end < len(signs) and signs[end] == signs[begin]:
            end += 1
        start, stop = first + begin, first + end
        if signs[begin] == " ":
            start, stop = _without_halves(tokens, start, stop)
        if _spells(tokens.words[start : stop + 1], signs[begin], words):
            yield int(tokens.starts[start]), int(tokens.ends[_with_rest(tokens, stop, signs[begin])])
        begin = end


def _without_halves(tokens: JoinedTokens, start: int, stop: int) -> tuple[int, int]:
    """Without the `s` of `it's a` and the `C` of `a C/S`."""
    if chr(int(tokens.codes[tokens.starts[start] - 1])) in "'’":
        start += 1
    if chr(int(tokens.codes[tokens.ends[stop]])) in "'’/&-" and chr(int(tokens.codes[tokens.ends[stop] + 1])).isalnum():
        stop -= 1
    return start, stop


def _with_rest(tokens: JoinedTokens, stop: int, sign: str) -> int:
    """The last token of a word of which the rest is not parted, as in `S/m/i/th`."""
    behind = stop + 1
    joined = behind < len(tokens) and tokens.doc[behind] == tokens.doc[stop] and sign != " "
    if joined and tokens.starts[behind] - tokens.ends[stop] == len(sign) and _gap(tokens, stop) == sign:
        return behind if tokens.words[behind].isalpha() and len(tokens.words[behind]) <= 3 else stop
    return stop


def _spells(letters: Sequence[str], sign: str, words: _Words) -> bool:
    """Whether single letters are a word in disguise: no list of options, no abbreviation."""
    word = "".join(letters)
    if len(word) < 3 or not word.isalpha():
        return False
    if words.is_name(word) and not words.is_clinical(word):
        return True
    is_titled = word[0].isupper() and word[1:].islower()
    if len(word) == 3:
        return is_titled and sign != " " and not words.is_clinical(word)
    if is_titled:
        return True
    if len(word) == _MIN_NAME and word.isupper() and sign in _LIST_SIGNS:
        return False  # serogroups, options
    in_order = all(a < b for a, b in pairwise(word.casefold()))
    return not (in_order or words.is_clinical(word))


# ---------------------------------------------------------------------------------- names that are parted

_STRANGE_SIGNS = "_*|~^`\\{}[]#"
_MAX_PIECES = 12
_PARTING = np.isin(np.arange(0x80), [ord(sign) for sign in " \n/.,-+:()" + _STRANGE_SIGNS])
_LEET = str.maketrans("01345789@$!", "oieastbgasi")
_LEET_L = str.maketrans("1!", "ll")
_IS_LEET_SIGN = np.isin(np.arange(0x80), [ord(sign) for sign in "@$!"])
_LEET_SIGN = re.compile(r"[@$!]+")
_LEET_RUN = re.compile(r"(?<![^\W_])(?:[^\W_]{1,40}|(?=\$))(?:[@$!]{1,3}[^\W_]{1,40})+")


def _interrupted_ranges(tokens: JoinedTokens, flags: Flags, words: _Words) -> Iterator[tuple[int, int]]:
    """Where one sign parts the pieces of a name: `Okon/kwo`, `Smi_th`, `P@tel`."""
    signs = tokens.codes[tokens.ends[:-1]]
    next_to = (tokens.starts[1:] - tokens.ends[:-1] == 1) & _PARTING[np.minimum(signs, 0x7F)]
    safe = (flags & np.uint32(SAFE_FLAGS)) != 0
    is_space = (signs == ord(" ")) | (signs == ord("\n"))
    lower = _begins_lower(tokens)
    strange = np.isin(signs, [ord(sign) for sign in "(" + _STRANGE_SIGNS])
    unsafe = strange | ~(safe[1:] & safe[:-1]) & ~(is_space & (safe[1:] | safe[:-1]))
    chain_signs = next_to & ~is_space
    for i in np.flatnonzero(next_to & unsafe & lower[1:]).tolist():
        last = i + 1
        while last < len(chain_signs) and chain_signs[i] and chain_signs[last] and last - i < _MAX_PIECES:
            last += 1
        if _are_pieces(tokens.words[i : last + 1], "", words):
            yield int(tokens.starts[i]), int(tokens.ends[last])
        elif _are_pieces(tokens.words[i : i + 2], chr(int(signs[i])), words):
            yield int(tokens.starts[i]), int(tokens.ends[i + 1])


def _leet_ranges(tokens: JoinedTokens, words: _Words) -> Iterator[tuple[int, int]]:
    """Where `@`, `$` or `!` stand for letters of a name: `P@tel`, `$mith`."""
    before = np.minimum(tokens.codes[tokens.starts - 1], 0x7F)
    for doc in np.unique(tokens.doc[_IS_LEET_SIGN[before]]).tolist():
        offset = int(tokens.offsets[doc])
        for match in _LEET_RUN.finditer(tokens.docs[doc].text):
            if _reads_as_a_name(match.group(), words):
                yield match.start() + offset, match.end() + offset


def _reads_as_a_name(run: str, words: _Words) -> bool:
    """Whether letters, digits and signs read as a name; `pt@home` and `rash!Then` do not."""
    read = run.translate(_LEET)
    if not read.isalpha() or not any(map(str.isalpha, run)):
        return False
    if words.is_only_name(read) or words.is_only_name(run.translate(_LEET_L).translate(_LEET)):
        return True
    pieces = [piece for piece in _LEET_SIGN.split(run) if piece]
    is_word = not any(len(piece) >= 2 and words.is_known(piece) for piece in pieces)
    return is_word and len(read) > _MIN_NAME and read[1:].islower()


_LOWER = np.fromiter((chr(code).islower() for code in range(0x250)), np.bool_, 0x250)


def _begins_lower(tokens: JoinedTokens) -> BoolArray:
    codes = tokens.codes[tokens.starts]
    return _LOWER[np.minimum(codes, 0x24F)]


def _are_pieces(pieces: Sequence[str], sign: str, words: _Words) -> bool:
    """Whether pieces make a name, or a strange sign parts what is no word either."""
    word = "".join(pieces).translate(_LEET)
    if not word.isalpha() or pieces[0].isdigit() or len(word) <= _MIN_NAME:
        return False
    if words.is_only_name(word) and not words.is_only_name(pieces[0]):
        return True
    strange = sign != "" and sign in _STRANGE_SIGNS
    return strange and not any(len(piece) >= 3 and words.is_known(piece) for piece in pieces)


# ------------------------------------------------------------------------------------ names that own

_APOSTROPHES = _table("'’‘`´")
_NO_OWNER_BEFORE = frozenset(
    """disease diseases syndrome sign signs test tests palsy cyst cysts ligament fascia lymphoma phenomenon stain node
    nodes spots paralysis line lines wort contracture release thyroiditis angle law triad tetralogy esophagus oesophagus
    ulcer tumor tumour sarcoma arteritis granulomatosis chorea ataxia criteria score scale classification maneuver
    manoeuvre position procedure operation technique method reflex reaction pouch point space tubercle bunion fracture
    solution lactate dementia encephalopathy anemia anaemia gland glands duct canal aneurysm gangrene edema oedema
    carcinoma nephropathy nephritis cartilage crisis triangle retractor forceps clamp needle catheter tube incision
    repair cell cells body bodies membrane muscle plexus patch patches tendon tendinitis tenosynovitis neuroma hernia
    diverticulum medium agar stroma lesion lesions cardinal spinal exercises index formula colitis ileitis vasculitis toe layer layers hypothyroid hypothyroidism""".split()
)
"""Behind these a name is the name of a finding or an instrument."""
_NO_NAMES = frozenset(
    """sender doctor md child children surgeon nurse mother father parent parents baby sister brother son daughter wife
    husband uncle aunt man men woman women lady king god pope lord judge officer driver teacher world today""".split()
)


def _owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    """Names with a capital that own something: `Will's rash`, not `Bell's palsy` or `Parkinson's and`."""
    is_name = (flags & np.uint32(_NAME)) != 0
    ends = np.minimum(tokens.codes[tokens.ends], _TABLE_SIZE - 1)
    found = np.zeros(len(tokens), np.bool_)
    owners = is_name[:-2] & _APOSTROPHES[ends[:-2]] & (tokens.starts[1:-1] - tokens.ends[:-2] == 1)
    owners &= (tokens.starts[2:] - tokens.ends[1:-1] == 1) & (tokens.doc[2:] == tokens.doc[:-2])
    stop_word = (flags & np.uint32(WordFlag.STOP_WORD)) != 0
    for i in np.flatnonzero(owners & ~stop_word[2:]).tolist():
        owner, ending, owned = tokens.words[i : i + 3]
        named = owner in ("will", "may") or (owner[0].isupper() and owner.casefold() not in _NO_NAMES)
        found[i] = named and ending in ("s", "S") and owned.casefold() not in _NO_OWNER_BEFORE
    return found


# ----------------------------------------------------------------------------------- words in one piece

_ROLE = (
    r"patients?|pts?|subject|client|reporter|consumer|doctor|dr|mrs?|ms|miss|prof|sir|nurse|physician|"
    r"pharmacist|name|surname|initials?|mother|father|wife|husband|son|daughter|sister|brother|mom|dad|by|from|with"
)
_GLUED_CAPITAL = re.compile(rf"(?:(?i:{_ROLE}))([A-Z][^\W\d_A-Z]+(?:[A-Z][^\W\d_A-Z]+)?)")
_GLUED_SMALL = re.compile(
    r"(?i:patient|reporter|consumer|doctor|physician|nurse|dr|mrs?|miss|name|wife|husband)([^\W\d_]{4,})"
)
_GLUED_TITLE = re.compile(r"([A-Z][^\W\d_A-Z]{2,})(?:MD|RN|PhD|DO|NP|PA|GP)")
_CAMEL = re.compile(r"(?:[A-Z][a-z]{2,}){2,}")
_CAMEL_PART = re.compile(r"[A-Z][a-z]+")
_MEASURES = re.compile(r"(?:\d+[a-z]{0,2}x)+\d+[a-z]{0,2}", re.IGNORECASE)
_INNER_DIGIT = re.compile(r"[a-z][013457][a-z]")
_HIDDEN_TEXT = re.compile(r"[^\W\d_][^\W\d_ .,'’@-]{2,}[^\W_ .,'’@-]*")
_BASE64 = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9]{8,}")
_HEX_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2}){4,}")


def disguised_words(words: Sequence[str], lexicon: Lexicon) -> BoolArray:
    """Which words hold a name that is glued to another word or written with digits: bool (n_words,).

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> disguised_words(["reporterPetrovic", "0k0nkw0", "HbA1c", "patient"], load_lexicon()).tolist()
        [True, True, False, False]
    """
    known = _Words(lexicon)
    found = (len(word) >= _MIN_NAME and _is_disguised(word, known) for word in words)
    return np.fromiter(found, np.bool_, len(words))


def _is_disguised(word: str, words: _Words) -> bool:
    if word.isdigit() or word.isupper():
        return False
    if word.isalpha() and word.islower():
        return _is_glued_small(word, words)
    if not word.isalpha():
        return _is_leet(word, words) or _is_text_in_code(word)
    return _is_glued_small(word, words) or _is_glued(word, words) or _is_text_in_code(word)


def _is_glued(word: str, words: _Words) -> bool:
    """`reporterPetrovic`, `drOkonkwo`, `SmithMD`, `JohnSmith`."""
    glued = _GLUED_CAPITAL.fullmatch(word) or _GLUED_TITLE.fullmatch(word)
    if glued is not None and not words.is_known(word):
        return words.is_name(glued.group(1)) or not words.is_known(glued.group(1))
    if _CAMEL.fullmatch(word) is None or words.is_known(word):
        return False
    parts = _CAMEL_PART.findall(word)
    return all(map(words.is_name, parts)) and any(map(words.is_only_name, parts))


def _is_glued_small(word: str, words: _Words) -> bool:
    """`drokonkwo`, `patientpetrovic`."""
    glued = _GLUED_SMALL.fullmatch(word)
    return glued is not None and not words.is_known(word) and words.is_only_name(glued.group(1))


def _is_leet(word: str, words: _Words) -> bool:
    """Digits in the place of letters; `2pills`, `q4hours`, `T4N1M0` and `50mg` are none."""
    read = word.translate(_LEET)
    if not read.isalpha() or is_glued_quantity(word) or _MEASURES.fullmatch(word):
        return False
    if words.is_only_name(read) or words.is_only_name(word.translate(_LEET_L).translate(_LEET)):
        return True
    pieces = [piece for piece in re.split(r"\d+", word) if len(piece) >= 3]
    if sum(map(str.isalpha, word)) < _MIN_NAME or _INNER_DIGIT.search(word) is None:
        return False
    return not (pieces and all(map(words.is_known, pieces)))


def _is_text_in_code(word: str) -> bool:
    """Whether base64 or hexadecimal digits stand for letters."""
    try:
        if _HEX_PAIRS.fullmatch(word):
            return _HIDDEN_TEXT.fullmatch(bytes.fromhex(word).decode()) is not None
        if _BASE64.fullmatch(word):
            raw = base64.b64decode(word[: len(word) // 4 * 4])
            return _HIDDEN_TEXT.match(raw.decode("utf-8", "ignore")) is not None and raw.isascii()
    except (UnicodeDecodeError, binascii.Error):
        pass
    return False
