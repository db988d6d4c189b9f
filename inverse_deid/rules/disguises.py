"""Identifiers in disguise, which dictionaries and the network cannot read.

These rules may only mask. They are not features of the network, so that a trained network reads
ordinary text as it was trained. A word is masked if a character that must not leave touches it, if it
contains encoded letters or a tag, if its letters are separated, or if it owns something as people do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.disguised_words import LEET, LEET_L, MIN_NAME, NAME_FLAGS, KnownWords
from inverse_deid.rules.encoded import encoded_ranges
from inverse_deid.rules.shapes import is_glued_quantity
from inverse_deid.rules.word_classes import word_set
from inverse_deid.text.alignment import tokens_touched
from inverse_deid.text.gaps import ALLOWED_GAP_CHARACTERS
from inverse_deid.text.joined import JoinedTokens

Flags = npt.NDArray[np.uint32]
_TABLE_SIZE = 0x3000


def _table(characters: Iterable[str]) -> BoolArray:
    """Tell which characters are among these: bool (_TABLE_SIZE,); the last entry is for all above."""
    table = np.zeros(_TABLE_SIZE, np.bool_)
    table[[ord(character) for character in characters]] = True
    return table


_ALLOWED = _table(ALLOWED_GAP_CHARACTERS)


def disguised_tokens(tokens: JoinedTokens, flags: Flags, lexicon: Lexicon) -> BoolArray:
    """Tell which tokens a disguise makes unreadable: bool (n_tokens,); see `owners` for owners.

    Args:
        tokens: Of several documents, each independent of the others.
        flags: uint32 (n_tokens,), the `WordFlag`s of each.
        lexicon: Has the words that the pieces make.

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
    words = KnownWords(lexicon)
    ranges = [*encoded_ranges(tokens, words), *_spelled_ranges(tokens, words)]
    ranges += [*_interrupted_ranges(tokens, flags, words), *_leet_ranges(tokens, words)]
    ranges += _parted_ranges(tokens, flags, words)
    return beside_forbidden | tokens_touched(tokens, ranges)


_MAX_GAP = 4
_MAX_LETTERS = 20
_WHITE_SPACE = re.compile(r"\s+")
_QUOTES = "'\u2019"
_JOINING = _QUOTES + "/&-"
_LAST_OPTION = "k"
_LIST_SIGNS = frozenset([",", ", ", "/", " / ", " & ", "&", "+", " + ", ";", "; "])


def _spelled_ranges(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return where a word is written letter by letter, with any separators."""
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


def _raw_gap(tokens: JoinedTokens, left: int) -> str:
    """Return the text between a token and the next."""
    doc = int(tokens.doc[left])
    offset = int(tokens.offsets[doc])
    return tokens.docs[doc].text[int(tokens.ends[left]) - offset : int(tokens.starts[left + 1]) - offset]


def _gap(tokens: JoinedTokens, left: int) -> str:
    """Return the text between a token and the next, any white space as one space."""
    return _WHITE_SPACE.sub(" ", _raw_gap(tokens, left))


def _spelled_in(tokens: JoinedTokens, first: int, last: int, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return the words that single letters, tokens first to last, spell with one separator."""
    signs = [_gap(tokens, i) for i in range(first, last)]
    if len(set(signs)) > 1:
        yield from _spelled_by_changing_signs(tokens, first, last, words)
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


def _spelled_by_changing_signs(
    tokens: JoinedTokens, first: int, last: int, words: KnownWords
) -> Iterator[tuple[int, int]]:
    """Return names such as `O.k-o n/k.w-o`, each from a capital to the next, or one letter longer."""
    letters = tokens.words[first : last + 1]
    capitals = [i for i, letter in enumerate(letters) if letter.isupper()]
    begins = capitals if 0 < len(capitals) < len(letters) else [0]
    for begin, end in pairwise([*begins, len(letters)]):
        for stop in (end, end - 1):
            abbreviated = any(_gap(tokens, first + i) == ". " for i in range(begin, stop - 1))
            if _is_spelled_name("".join(letters[begin:stop]), abbreviated, words):
                yield int(tokens.starts[first + begin]), int(tokens.ends[first + stop - 1])
                break


def _is_spelled_name(word: str, abbreviated: bool, words: KnownWords) -> bool:
    """Tell whether letters with several separators are a name; `p.o. t.i.d.` is not."""
    if not MIN_NAME <= len(word) <= _MAX_LETTERS or words.is_clinical(word):
        return False
    if word[0].isupper() and word[1:].islower():
        return words.is_name(word) and (len(word) > MIN_NAME or not abbreviated)
    return words.is_only_name(word) and len(word) > MIN_NAME


def _without_halves(tokens: JoinedTokens, start: int, stop: int) -> tuple[int, int]:
    """Drop the `s` of `it's a` and the `C` of `a C/S`."""
    if chr(int(tokens.codes[tokens.starts[start] - 1])) in _QUOTES:
        start += 1
    if (
        chr(int(tokens.codes[tokens.ends[stop]])) in _JOINING
        and chr(int(tokens.codes[tokens.ends[stop] + 1])).isalnum()
    ):
        stop -= 1
    return start, stop


def _with_rest(tokens: JoinedTokens, stop: int, sign: str) -> int:
    """Return the last token of a word whose rest is not separated, as in `S/m/i/th`."""
    behind = stop + 1
    joined = behind < len(tokens) and tokens.doc[behind] == tokens.doc[stop] and sign != " "
    if joined and tokens.starts[behind] - tokens.ends[stop] == len(sign) and _gap(tokens, stop) == sign:
        return behind if tokens.words[behind].isalpha() and len(tokens.words[behind]) <= 3 else stop
    return stop


def _spells(letters: Sequence[str], sign: str, words: KnownWords) -> bool:
    """Tell whether single letters are a word in disguise, not a list of options or an abbreviation."""
    word = "".join(letters)
    if len(word) < 3 or not word.isalpha() or _is_list_of_letters(word, sign):
        return False
    if words.is_name(word) and not words.is_clinical(word):
        return True
    is_titled = word[0].isupper() and word[1:].islower()
    if len(word) == 3:
        return is_titled and sign != " " and not words.is_clinical(word)
    if is_titled:
        return True
    if len(word) == MIN_NAME and word.isupper() and sign in _LIST_SIGNS:
        return False  # serogroups, options
    return not (_in_order(word) or words.is_clinical(word))


def _in_order(word: str) -> bool:
    return all(a < b for a, b in pairwise(word.casefold()))


def _is_list_of_letters(word: str, sign: str) -> bool:
    """Recognise options, types and vitamins: `A.B.C.D.`, `A, B, E`, not a name such as `A.m.y`."""
    folded = word.casefold()
    if word.isupper() and sign in _LIST_SIGNS and _in_order(word) and folded[-1] <= _LAST_OPTION:
        return True
    return all(ord(b) - ord(a) == 1 for a, b in pairwise(folded))


_STRANGE_SIGNS = "_*|~^`\\{}[]#"
_MAX_PIECES = 12
_PARTING = np.isin(np.arange(0x80), [ord(sign) for sign in " \n/.,-+:()" + _STRANGE_SIGNS])
_IS_LEET_SIGN = np.isin(np.arange(0x80), [ord(sign) for sign in "@$!"])
_ANY_PARTING = re.compile(r"(?! \Z)(?:[^\w\r\n]|_){1,3}")
_CONTRACTED = frozenset(["s", "t", "ll", "re", "ve", "d", "m"])
_LEET_SIGN = re.compile(r"[@$!]+")
_LEET_RUN = re.compile(r"(?<![^\W_])(?:[^\W_]{1,40}|(?=\$))(?:[@$!]{1,3}[^\W_]{1,40})+")


def _interrupted_ranges(tokens: JoinedTokens, flags: Flags, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return where one sign separates the pieces of a name: `Okon/kwo`, `Smi_th`, `P@tel`."""
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


def _parted_ranges(tokens: JoinedTokens, flags: Flags, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return where one to three signs separate pieces that are only a name: `Pet°rovic`, `Pet**rovic`."""
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    safe = (flags & np.uint32(SAFE_FLAGS)) != 0
    near = (gaps >= 1) & (gaps <= 3) & (tokens.doc[1:] == tokens.doc[:-1]) & _begins_lower(tokens)[1:]
    near &= ~((gaps == 1) & (tokens.codes[tokens.ends[:-1]] == ord(" ")))
    for i in np.flatnonzero(near & ~(safe[1:] & safe[:-1]) & ~_begins_lower(tokens)[:-1]).tolist():
        last = i + 1
        while last < len(near) and near[last] and last - i < _MAX_PIECES:
            last += 1
        for stop in {i + 1, last}:
            if _is_parted_name(tokens, i, stop, words):
                yield int(tokens.starts[i]), int(tokens.ends[stop])


def _is_parted_name(tokens: JoinedTokens, first: int, last: int, words: KnownWords) -> bool:
    pieces = tokens.words[first : last + 1]
    word = "".join(pieces)
    if not (word.isalpha() and word[0].isupper() and word[1:].islower() and len(word) > MIN_NAME):
        return False
    if pieces[1] in _CONTRACTED or not words.is_only_name(word) or words.is_only_name(pieces[0]):
        return False
    gaps = [_raw_gap(tokens, i) for i in range(first, last)]
    if any(gap.isspace() and len(piece) == 1 for gap, piece in zip(gaps, pieces[1:], strict=True)):
        return False  # `Marsh   e-copy`
    return all(map(_ANY_PARTING.fullmatch, gaps))


def _leet_ranges(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return where `@`, `$` or `!` replace letters of a name: `P@tel`, `$mith`."""
    before = np.minimum(tokens.codes[tokens.starts - 1], 0x7F)
    for doc in np.unique(tokens.doc[_IS_LEET_SIGN[before]]).tolist():
        offset = int(tokens.offsets[doc])
        for match in _LEET_RUN.finditer(tokens.docs[doc].text):
            if _reads_as_a_name(match.group(), words):
                yield match.start() + offset, match.end() + offset


def _reads_as_a_name(run: str, words: KnownWords) -> bool:
    """Tell whether letters, digits and signs read as a name; `pt@home` and `rash!Then` do not."""
    read = run.translate(LEET)
    if not read.isalpha() or not any(map(str.isalpha, run)):
        return False
    if words.is_only_name(read) or words.is_only_name(run.translate(LEET_L).translate(LEET)):
        return True
    pieces = [piece for piece in _LEET_SIGN.split(run) if piece]
    is_word = not any(len(p) >= 2 and p.isalpha() and words.is_known(p) for p in pieces)
    return is_word and len(read) > MIN_NAME and read[1:].islower()


_LOWER = np.fromiter((chr(code).islower() for code in range(0x250)), np.bool_, 0x250)


def _begins_lower(tokens: JoinedTokens) -> BoolArray:
    codes = tokens.codes[tokens.starts]
    return _LOWER[np.minimum(codes, 0x24F)]


def _are_pieces(pieces: Sequence[str], sign: str, words: KnownWords) -> bool:
    """Tell whether pieces make a name, or a strange sign separates pieces that are not a word."""
    word = "".join(pieces).translate(LEET)
    if not word.isalpha() or _is_quantity(pieces) or len(word) <= MIN_NAME:
        return False
    if words.is_only_name(word) and not words.is_only_name(pieces[0]):
        return True
    strange = sign != "" and sign in _STRANGE_SIGNS and not any(map(_is_number, pieces))
    return strange and not any(len(piece) >= 3 and words.is_known(piece) for piece in pieces)


def _is_quantity(pieces: Sequence[str]) -> bool:
    """Tell whether pieces are a dose or begin with one: `400|mg`, `50mg|oral`."""
    quantities = ("".join(pieces), pieces[0], "".join(pieces[:2]))
    return any(map(is_glued_quantity, quantities))


def _is_number(piece: str) -> bool:
    return len(piece) >= 2 and piece.isdigit()


_APOSTROPHES = _table("'’‘`´")  # noqa: RUF001
_NO_OWNER_BEFORE = word_set(
    """disease diseases syndrome sign signs test tests palsy cyst cysts ligament fascia lymphoma phenomenon
    stain node nodes spots paralysis line lines wort contracture release thyroiditis angle law triad
    tetralogy esophagus oesophagus ulcer tumor tumour sarcoma arteritis granulomatosis chorea ataxia
    criteria score scale classification maneuver manoeuvre position procedure operation technique
    method reflex reaction pouch point space tubercle bunion fracture solution lactate dementia
    encephalopathy anemia anaemia gland glands duct canal aneurysm gangrene edema oedema carcinoma
    nephropathy nephritis cartilage crisis triangle retractor forceps clamp needle catheter tube
    incision repair cell cells body bodies membrane muscle plexus patch patches tendon tendinitis
    tenosynovitis neuroma hernia diverticulum medium agar stroma lesion lesions cardinal spinal
    exercises index formula colitis ileitis vasculitis toe layer layers hypothyroid hypothyroidism
    colostomy aphasia testing groove pupil ophthalmopathy orbitopathy dermopathy hyperthyroidism"""
)
"""After these a name is the name of a finding or an instrument."""
_NO_NAMES = word_set(
    """sender doctor md child children surgeon nurse mother father parent parents baby sister brother son
    daughter wife husband uncle aunt man men woman women lady king god pope lord judge officer
    driver teacher world today patient boy girl"""
)

_MANUFACTURERS = word_set(
    """merck pfizer janssen roche bayer lilly novartis abbott moderna sanofi wyeth lederle pasteur takeda
    biogen amgen gilead teva mylan genentech genzyme baxter novavax sinovac aventis connaught squibb
    roussel schering boehringer astra"""
)
"""Companies with the name of a person; after a title they are a person."""


def owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    """Return capitalised names that own something: `Will's rash`, not `Bell's palsy` or `Parkinson's and`.

    Args:
        tokens: Of several documents, each independent of the others.
        flags: uint32 (n_tokens,), the `WordFlag`s of each.

    Returns:
        bool (n_tokens,).
    """
    if len(tokens) < 2:
        return np.zeros(len(tokens), np.bool_)
    return _singular_owners(tokens, flags) | _plural_owners(tokens, flags)


def _may_own(tokens: JoinedTokens, flags: Flags, i: int) -> bool:
    """Tell whether a name is written as a person's, not as a relation or a company."""
    owner = tokens.words[i]
    folded = owner.casefold()
    if not owner[0].isupper() or (owner.isupper() and len(owner) < MIN_NAME) or folded in _NO_NAMES:
        return False
    after_title = i > 0 and bool(int(flags[i - 1]) & WordFlag.SALUTATION)
    return folded not in _MANUFACTURERS or (after_title and tokens.doc[i] == tokens.doc[i - 1])


def _plural_owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    """Recognise `Marks' arm`, `Jones' rash`, not the end of a quotation."""
    is_name = (flags & np.uint32(NAME_FLAGS)) != 0
    ends = tokens.ends[:-1]
    found = np.zeros(len(tokens), np.bool_)
    marked = is_name[:-1] & _APOSTROPHES[np.minimum(tokens.codes[ends], _TABLE_SIZE - 1)]
    marked &= (tokens.starts[1:] - ends == 2) & (tokens.doc[1:] == tokens.doc[:-1])
    marked &= ~_APOSTROPHES[np.minimum(tokens.codes[tokens.starts[:-1] - 1], _TABLE_SIZE - 1)]
    marked &= (flags[1:] & np.uint32(WordFlag.STOP_WORD)) == 0
    for i in np.flatnonzero(marked).tolist():
        owner, owned = tokens.words[i].casefold(), tokens.words[i + 1].casefold()
        named = owner[-1] in "sxz" and owner.removesuffix("s") not in _NO_NAMES and _may_own(tokens, flags, i)
        found[i] = named and tokens.words[i + 1].islower() and owned not in _NO_OWNER_BEFORE
    return found


def _singular_owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    is_name = (flags & np.uint32(NAME_FLAGS)) != 0
    ends = np.minimum(tokens.codes[tokens.ends], _TABLE_SIZE - 1)
    found = np.zeros(len(tokens), np.bool_)
    owning = is_name[:-2] & _APOSTROPHES[ends[:-2]] & (tokens.starts[1:-1] - tokens.ends[:-2] == 1)
    owning &= (tokens.starts[2:] - tokens.ends[1:-1] == 1) & (tokens.doc[2:] == tokens.doc[:-2])
    stop_word = (flags & np.uint32(WordFlag.STOP_WORD)) != 0
    for i in np.flatnonzero(owning & ~stop_word[2:]).tolist():
        owner, ending, owned = tokens.words[i : i + 3]
        named = owner in ("will", "may") or _may_own(tokens, flags, i)
        found[i] = named and ending in ("s", "S") and owned.casefold() not in _NO_OWNER_BEFORE
    return found
