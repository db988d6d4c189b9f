"""Tells words from names in the labels of a terminology."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from inverse_deid.lexicon.keys import word_key

_TOKEN: Final = re.compile(r"[^\W_]+")
_EPONYM_HEADS_TEXT: Final = """
    disease diseases syndrome syndromes disorder anomaly anomalies sign signs test tests
    lymphoma sarcoma tumor tumour carcinoma nevus palsy paralysis ataxia dystrophy contracture
    hernia fracture deformity malformation reaction reflex procedure operation thyroiditis
    arteritis granulomatosis encephalopathy neuropathy glomerulonephritis nephropathy anemia
    anaemia purpura esophagus oesophagus chorea epilepsy phenomenon cyst cysts gland glands
    bodies body cell cells catheter scale score index stain criteria classification dementia
    psychosis gangrene ulcer thrombasthenia ring rings canal duct node nodes nodule nodules tic
    tetralogy dysplasia amyotrophy fever virus keratosis myopathy cardiomyopathy leukodystrophy
    arthropathy joint
"""
_EPONYM_HEADS: Final = frozenset(_EPONYM_HEADS_TEXT.split())
_LINKS: Final = frozenset(["s", "de", "la", "von", "van", "der", "and", "of", "di", "le"])


def label_word_counts(labels: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Count how often each alphabetic word is in lower case and capitalised.

    A capitalised first word of a label says nothing and is not counted.

    Returns:
        Two counters by word key: in lower case, and with a capital (not first).

    >>> lower, title = label_word_counts(["Acute pain", "Severe Crohn disease"])
    >>> sorted(lower), sorted(title)
    (['disease', 'pain'], ['crohn'])
    """
    lower: Counter[str] = Counter()
    title: Counter[str] = Counter()
    for label in labels:
        for position, word in enumerate(_TOKEN.findall(label)):
            if not word.isalpha():
                continue
            if word.islower():
                lower[word_key(word)] += 1
            elif position > 0 and not word.isupper():
                title[word_key(word)] += 1
    return lower, title


def medical_words(labels: Iterable[str], is_name: Callable[[str], bool], *, min_chars: int = 3) -> set[str]:
    """Return the words of `labels` that are not names.

    A word that is also a name must be in lower case in some label, and more often than with a
    capital; any other alphabetic word counts.

    Args:
        labels: Terms, in sentence case or lower case.
        is_name: Whether a word key is a name of a person or place.
        min_chars: Shorter words are left out.
    """
    labels = list(labels)
    lower, title = label_word_counts(labels)
    keys = {word_key(w) for label in labels for w in _TOKEN.findall(label) if w.isalpha()}
    return {key for key in keys if len(key) >= min_chars and (not is_name(key) or lower[key] > title[key])}


def eponym_phrases(labels: Iterable[str], is_name: Callable[[str], bool]) -> set[str]:
    """Return the eponyms in `labels`: a capitalised name up to its medical head noun.

    >>> sorted(eponym_phrases(["Juvenile Parkinson's disease"], {"parkinson"}.__contains__))
    ['parkinson s disease']
    """
    phrases: set[str] = set()
    for label in labels:
        words = _TOKEN.findall(label)
        start = 0
        while start < len(words):
            end = _eponym_end(words, start, is_name)
            if end:
                phrases.add(" ".join(word_key(w) for w in words[start:end]))
            start = max(start + 1, end)
    return phrases


def _eponym_end(words: list[str], start: int, is_name: Callable[[str], bool]) -> int:
    """Return the end of the eponym that starts at `start`; 0 if none does."""
    if not _capitalised(words[start]) or not is_name(word_key(words[start])):
        return 0
    for position in range(start + 1, min(start + 5, len(words))):
        if word_key(words[position]) in _EPONYM_HEADS:
            return position + 1
        if not (_capitalised(words[position]) or words[position] in _LINKS):
            return 0
    return 0


def _capitalised(word: str) -> bool:
    return word[:1].isupper() and len(word) > 1 and not word.isupper()
