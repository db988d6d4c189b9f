"""The large lists, in the order in which they need each other."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from inverse_deid.lexicon.entries import entry_tokens, read_entries, strip_accents
from inverse_deid.lexicon.licensed import count_label_words, eponym_phrases, medical_words
from lexicon_sources import english, medicine, people, places
from lexicon_sources.packages import Packages
from lexicon_sources.wordnet import wordnet_lemmas

AMBIGUOUS_FUNCTION_WORDS = frozenset(["can", "do", "don", "may", "mine", "will", "long"])
"""Function words that stay in the lists of names."""


@dataclass(frozen=True, slots=True)
class _Names:
    last: Mapping[str, int]
    first: Mapping[str, int]
    world_last: Mapping[str, int]
    world_first: Mapping[str, int]
    cities: Set[str]

    def known(self) -> Set[str]:
        """Return the keys of all names of people and one-word cities, any accents."""
        city_words = {c for c in self.cities if len(entry_tokens(c)) == 1}
        names = {*self.last, *self.first, *self.world_last, *self.world_first, *city_words}
        return names | {strip_accents(name) for name in names}


def derive_lists(packages: Packages, dictionaries: Path) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield name and entries of every derived list.

    Args:
        packages: The pinned packages.
        dictionaries: Folder of the lists written by hand, some of which are needed.
    """
    log_probs = english.read_log_probs(packages)
    function = set(read_entries(dictionaries / "function_words"))
    names = _names(packages, log_probs, function - AMBIGUOUS_FUNCTION_WORDS)
    yield "surnames_census", names.last
    yield "first_names_ssa", names.first
    yield "surnames_world", names.world_last
    yield "first_names_world", names.world_first
    yield "cities", _uncounted(names.cities)
    yield "countries", _uncounted(places.countries(packages))
    known: dict[str, Set[str]] = {"function_words": function}
    people_and_places = names.known()
    for name, words in _english(packages, log_probs):
        known[name] = english.written_small(words, people_and_places, log_probs)
        yield name, _uncounted(known[name])
    for name, words in _medicine(packages, log_probs, people_and_places):
        known[name] = words if name == "eponyms_derived" else words - function
        yield name, _uncounted(known[name])
    everything = {e for words in known.values() for e in words} | people_and_places
    yield "english_frequencies", _frequencies(log_probs, everything)


def _names(packages: Packages, log_probs: Mapping[str, float], function: set[str]) -> _Names:
    clinical = medicine.clinical_words(packages)
    world_last, world_first = people.world_names(packages, function)
    counted = (
        people.surnames(packages, function),
        people.first_names(packages, function),
        dict.fromkeys(world_last, people.COUNTED_ELSEWHERE),
        dict.fromkeys(world_first, people.COUNTED_ELSEWHERE),
    )
    return _Names(
        *(people.without_plain_words(names, log_probs, clinical) for names in counted),
        places.cities(packages, log_probs, function),
    )


def _english(packages: Packages, log_probs: Mapping[str, float]) -> Iterator[tuple[str, Set[str]]]:
    wordnet = wordnet_lemmas(packages)
    words = english.english_words(packages)
    graded = english.graded_words(packages)
    stop = english.stop_words(packages, log_probs)
    yield "stop_words", stop
    yield "wordnet", wordnet
    yield "english_words", words
    yield "english_words_graded", graded
    yield "english_inflections", english.inflected_words(packages, wordnet | words | graded, log_probs)


def _medicine(
    packages: Packages, log_probs: Mapping[str, float], names: Set[str]
) -> Iterator[tuple[str, Set[str]]]:
    fda = medicine.fda_names(packages)
    recognised = medicine.recognised_names(packages)
    standard = medicine.standard_names(packages)
    for name, words, others in (
        ("drugs_fda", fda, recognised | standard),
        ("drugs_open", recognised, fda | standard),
        ("drugs_synonyms", standard, fda | recognised),
    ):
        yield name, medicine.without_names(words, others, names.__contains__, log_probs)
    yield from _terms(packages, log_probs, names)


def _terms(
    packages: Packages, log_probs: Mapping[str, float], names: Set[str]
) -> Iterator[tuple[str, Set[str]]]:
    ontology = list(medicine.ontology_labels(packages))
    headings = list(medicine.heading_labels(packages))
    classification = list(medicine.classification_labels(packages))
    laboratory = list(medicine.laboratory_labels(packages))
    running = count_label_words(ontology + classification)

    def is_name(word: str) -> bool:
        return strip_accents(word) in names

    def is_eponym(word: str) -> bool:
        return is_name(word) and not english.mostly_lower(word, log_probs)

    is_free = _not_written_small(running, is_name, log_probs)
    yield "medical_ontologies", medical_words(ontology, is_free)
    yield "medical_headings", {w for w in medical_words(headings, is_free) if not is_free(w)}
    yield "medical_classification", medical_words(classification, is_free)
    yield "laboratory_analytes", medical_words(laboratory, is_free)
    yield (
        "medical_abbreviations",
        {a for a in medicine.abbreviations(packages) if a not in names or len(a) == 2},
    )
    yield "eponyms_derived", eponym_phrases(ontology + headings + classification, is_eponym)


def _not_written_small(
    counts: tuple[Mapping[str, int], Mapping[str, int]],
    is_name: Callable[[str], bool],
    log_probs: Mapping[str, float],
) -> Callable[[str], bool]:
    """Return whether a word is a name that the labels do not write in lower case."""
    lower, title = counts

    def test(word: str) -> bool:
        if not is_name(word):
            return False
        in_labels = lower.get(word, 0) > title.get(word, 0)
        return not (in_labels and english.mostly_lower(word, log_probs, 0.3))

    return test


def _frequencies(log_probs: Mapping[str, float], words: Set[str]) -> dict[str, int]:
    """Return word to 256 * lower ratio + frequency bucket."""
    every = english.frequencies(log_probs)
    tokens = {token for entry in words for token in entry_tokens(entry)}
    common = sorted(every, key=lambda key: (-every[key].logprob, key))
    wanted = (tokens & every.keys()) | set(common[: english.N_EXTRA_WORDS])
    return {key: 256 * every[key].lower_ratio + every[key].logprob for key in wanted}


def _uncounted(words: Set[str]) -> dict[str, int]:
    return dict.fromkeys(words, 0)
