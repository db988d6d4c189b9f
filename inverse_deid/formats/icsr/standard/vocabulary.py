"""The closed vocabularies of E2B messages: whether a name, code, unit or number is one of the standard.

The sets are in `vocabulary.toml`, with their sources. A value outside all sets and patterns is not structure.

Source: HL7 v3 data types and vocabulary; ISO 3166-1; ISO 639; UCUM, sections 1 to 3; the code lists
that ICH E2B(R3) uses.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from inverse_deid.formats.icsr.standard.elements import HL7, Dialect

XSI_NAMESPACE = "http://www.w3.org/2001/XMLSchema-instance"
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"

ICH_LISTS = "2.16.840.1.113883.3.989.2.1.1."
MEDDRA = "2.16.840.1.113883.6.163"
COUNTRIES = "1.0.3166.1.2.2"
OBSERVATIONS = f"{ICH_LISTS}19"

_OID = re.compile(r"[0-2](?:\.(?:0|[1-9]\d{0,5})){1,24}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LINK = re.compile(rf"[0-2](?:\.\d{{1,15}}){{1,29}}|[A-Za-z]{{1,6}}-?\d{{1,6}}|{_UUID.pattern}")
_STANDARD_ROOTS = ("2.16.840.1.113883.", "1.0.", "0.4.0.127.0.16.1.1.")
"""HL7 (with ICH and FDA below it), ISO standards, EDQM."""

_CODES = {
    COUNTRIES: None,
    MEDDRA: re.compile(r"10\d{6}"),
    OBSERVATIONS: re.compile(r"[1-5]?\d|C\d{4,6}"),
    "1.0.5218": re.compile(r"[0129]"),
    "0.4.0.127.0.16.1.1.2.": re.compile(r"\d{3}|\d{6}00|C\d{4,6}"),
    ICH_LISTS: re.compile(r"1?\d|C\d{4,6}"),
    "2.16.840.1.113883.3.989.5.1.": re.compile(r"[12]?\d|C\d{4,6}"),
    "2.16.840.1.113883.3.26.1.1": re.compile(r"C\d{4,6}|[A-Z]\d{2,6}|\d{4}"),
    "2.16.840.1.113883.4.9": re.compile(r"(?=.*\d)(?=.*[A-Z])[0-9A-Z]{10}"),
    "2.16.840.1.113883.6.69": re.compile(r"\d{4,6}-\d{3,5}(?:-\d{1,3})?"),
    "2.16.840.1.113883.1.18": re.compile(r"[A-Z]{4}_TE\d{6}UV\d{0,2}"),
    "2.16.840.1.113883.6.1": re.compile(r"\d{1,5}-\d"),
    "2.16.840.1.113883.6.73": re.compile(r"[A-Z]\d\d[A-Z]{2}\d\d"),
    "2.16.840.1.113883.5.": None,
}
"""Patterns of codes, by code system or its start (ends with a point); None: only codes of a set."""

_OTHER_CODE = re.compile(r"\d{1,6}|[A-Z]{1,3}\d{1,6}[A-Z]{0,3}")
_BARE_CODE = re.compile(r"\d{1,3}|[A-Z]\d{1,5}")
_VERSION = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,2}")
_MEDDRA_VERSION = re.compile(r"[1-9]\d?\.[0-3]")
_DATED_VERSION = re.compile(r"20\d\d(?:\.\d\d){0,2}|20\d\d-\d\d-\d\d|20\d{6}(?:\d{4})?|\d\d[A-Z]{3}20\d\d")
"""A code list with its date of publication as version."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,7}|[1-9]\d?0{6,10})(?:[.,]\d{1,6})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_PREFIX = re.compile(r"ns\d{1,2}|[a-z]\d?|hl7(?:v3)?|v3|xsi|xsd?|xml|mif2?|voc|sdtc")
_NAMESPACES = frozenset(
    (
        *(HL7, XSI_NAMESPACE, XML_NAMESPACE, "http://www.w3.org/2001/XMLSchema"),
        *("urn:hl7-org:v3/mif", "urn:hl7-org:v3/voc", "urn:hl7-org:sdtc"),
    )
)
_SCHEMA = re.compile(r"(?:MCCI_IN200100UV01|PORR_IN049016UV|ICH_ICSR_Schema)\.xsd")
_RANGES = {"weight": 700.0, "height": 300.0}
"""Upper limits for persons in kilograms and centimetres."""

Measure = Literal["weight", "height"]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    countries: frozenset[str]
    languages: frozenset[str]
    names: Mapping[str, frozenset[str]]
    attributes: Mapping[str, frozenset[str]]
    values: Mapping[str, frozenset[str]]
    bare_codes: Mapping[str, frozenset[str]]
    word_codes: Mapping[str, frozenset[str]]
    unit: re.Pattern[str]


@lru_cache(maxsize=1)
def _vocabulary() -> _Vocabulary:
    source = files("inverse_deid.formats.icsr.standard").joinpath("vocabulary.toml")
    table = tomllib.loads(source.read_text(encoding="utf-8"))

    def sets(name: str) -> dict[str, frozenset[str]]:
        return {key: frozenset(words.split()) for key, words in table[name].items()}

    values = {_expand(name): words for name, words in sets("values").items()}
    return _Vocabulary(
        countries=frozenset((*table["countries"].split(), "EU")),
        languages=frozenset(table["languages"].split()),
        names=sets("names"),
        attributes=sets("attributes"),
        values=values,
        bare_codes=sets("bare_codes"),
        word_codes=sets("word_codes"),
        unit=_unit_pattern({key: words.split() for key, words in table["units"].items()}),
    )


def _expand(name: str) -> str:
    for prefix, space in (("xsi:", XSI_NAMESPACE), ("xml:", XML_NAMESPACE)):
        if name.startswith(prefix):
            return f"{{{space}}}{name.removeprefix(prefix)}"
    return name


def _unit_pattern(units: Mapping[str, list[str]]) -> re.Pattern[str]:
    # Simple units with exponents and annotations, joined by points and slashes.
    joined = {
        key: "|".join(map(re.escape, sorted(words, key=len, reverse=True))) for key, words in units.items()
    }
    note = rf"\{{(?:{joined['annotations']})\}}"
    atom = rf"(?:(?:{joined['prefixes']})?(?:{joined['metric']})|{joined['plain']})(?:[+-]?\d)?"
    number = r"10[*^][+-]?\d{1,2}|10{0,3}|[2-9]|12|24|48"
    simple = rf"(?:(?:{atom}|{number})(?:{note})?|{note})"
    return re.compile(rf"(?=1$|.*[A-Za-z%*])/?{simple}(?:[./]{simple}){{0,4}}")


def is_known_element(tag: str, dialect: Dialect) -> bool:
    """Return whether an XML element is one of the standard.

    Example:
        >>> is_known_element("{urn:hl7-org:v3}observation", "r3"), is_known_element("okonkwo", "r2")
        (True, False)
    """
    namespace = f"{{{HL7}}}" if dialect == "r3" else ""
    name = tag.removeprefix(namespace)
    return tag == namespace + name and name in _vocabulary().names[dialect]


def is_known_attribute(name: str, dialect: Dialect) -> bool:
    """Return whether an attribute is one of the standard, or of XML or XML Schema."""
    known = _vocabulary()
    schema = {f"{{{XSI_NAMESPACE}}}schemaLocation", f"{{{XML_NAMESPACE}}}lang"}
    return name in known.attributes[dialect] or (dialect == "r3" and name in {*schema, *known.values})


def is_known_namespace(prefix: str | None, uri: str) -> bool:
    """Return whether a declaration of a namespace says nothing but the standard's."""
    return uri in _NAMESPACES and (prefix is None or _PREFIX.fullmatch(prefix) is not None)


def is_value(name: str, value: str) -> bool | None:
    """Return whether an attribute has one of its values, None = the attribute has no closed set of them.

    Example:
        >>> is_value("classCode", "OBS"), is_value("use", "H okonkwo"), is_value("extension", "7")
        (True, False, None)
    """
    words = _vocabulary().values.get(name)
    if words is None:
        return None
    if name == f"{{{XSI_NAMESPACE}}}type" and ":" in value:
        prefix, _, value = value.partition(":")
        if not _PREFIX.fullmatch(prefix):
            return False
    parts = value.split(" ") if name in ("use", "qualifier") else [value]
    if name == "mediaType":
        parts = [value.lower()]
    return len(parts) <= 4 and all(part in words for part in parts)


def is_word(name: str, value: str) -> bool:
    """Return whether a value of an attribute is a word of the standard, which may also be a name.

    Example:
        >>> is_word("classCode", "PART"), is_word("code", "active"), is_word("code", "Okonkwo")
        (True, True, False)
    """
    known = _vocabulary()
    if name == "code":
        return any(value in words for words in (*known.bare_codes.values(), *known.word_codes.values()))
    return is_value(name, value) is True or (name == "extension" and value in known.names["r3"])


def is_country(text: str) -> bool:
    """Return whether a text is a country of ISO 3166-1, in two letters, or EU.

    Example:
        >>> is_country("SE"), is_country(" eu "), is_country("Sweden"), is_country("QQ")
        (True, True, False, False)
    """
    return text.strip().upper() in _vocabulary().countries


def is_language(text: str) -> bool:
    """Return whether a text is a language of ISO 639 in two or three letters, alone or with a country.

    Example:
        >>> is_language("eng"), is_language("pt-BR"), is_language("bob")
        (True, True, False)
    """
    language, dash, country = text.partition("-")
    return language.lower() in _vocabulary().languages and (not dash or is_country(country))


def is_unit(text: str) -> bool:
    """Return whether a text is a unit of UCUM, or an annotation that E2B messages use.

    Example:
        >>> is_unit("mg/dl"), is_unit("10*9/L"), is_unit("10.a"), is_unit("{trimester}"), is_unit("okonkwo")
        (True, True, True, True, False)
        >>> is_unit("1"), is_unit("19.43.02.17"), is_unit("5550147")
        (True, False, False)
    """
    return len(text) <= 30 and _vocabulary().unit.fullmatch(text) is not None


def is_number(text: str, measure: Measure | None = None) -> bool:
    """Return whether a text is a number of up to seven digits (or more zeros), in its range if it has one.

    Args:
        text: The number.
        measure: Of what; a weight is in kilograms, a height in centimetres.

    Example:
        >>> is_number("-48.2"), is_number("5550147823"), is_number("3000000000"), is_number("880", "weight")
        (True, False, True, False)
    """
    if _NUMBER.fullmatch(text) is None:
        return False
    return measure is None or 0 < float(text.replace(",", ".")) <= _RANGES[measure]


def is_code_system(text: str) -> bool:
    """Return whether an object identifier belongs to HL7, ISO or EDQM; no arc has more than six digits.

    Example:
        >>> is_code_system("2.16.840.1.113883.6.163"), is_code_system("1.2.276.0.76.19430217")
        (True, False)
    """
    return _OID.fullmatch(text) is not None and text.startswith(_STANDARD_ROOTS)


def is_root(text: str) -> bool:
    """Return whether a root says nothing: an object identifier of a standard, or a UUID."""
    return is_code_system(text) or _UUID.fullmatch(text) is not None


def is_link(text: str) -> bool:
    """Return whether a root can be a link inside a case: any object identifier or UUID, or a short label.

    It has no meaning for a reader, so a number can replace it.

    Example:
        >>> is_link("1.2.40.7"), is_link("D-1"), is_link("Jane Roe")
        (True, True, False)
    """
    return _LINK.fullmatch(text) is not None


def is_code(code: str, system: str, element: str) -> bool:
    """Return whether a code looks as those of its code system, or without one is in the set of its element.

    Example:
        >>> is_code("10027940", MEDDRA, "value"), is_code("19430217", MEDDRA, "value")
        (True, False)
        >>> is_code("active", "", "statusCode"), is_code("Okonkwo", "", "statusCode")
        (True, False)
    """
    known = _vocabulary()
    if not system:
        words = known.bare_codes.get(element)
        return code in words if words is not None else _BARE_CODE.fullmatch(code) is not None
    if not is_code_system(system):
        return False
    if system == COUNTRIES:
        return is_country(code)
    if code in known.word_codes.get(system, ()):
        return True
    starts = [s for s in _CODES if system == s or (s.endswith(".") and system.startswith(s))]
    pattern = _CODES[max(starts, key=len)] if starts else _OTHER_CODE
    return pattern is not None and pattern.fullmatch(code) is not None


def is_version(version: str, system: str) -> bool:
    """Return whether a text is the version of a code system; MedDRA and ICH lists have no dated versions.

    Example:
        >>> is_version("25.0", MEDDRA), is_version("17.02.43", MEDDRA), is_version("20140102", "")
        (True, False, False)
        >>> is_version("12JUL2013", "2.16.840.1.113883.4.9"), is_version("19430217", "2.16.840.1.113883.4.9")
        (True, False)
    """
    if system == MEDDRA:
        return _MEDDRA_VERSION.fullmatch(version) is not None
    if _VERSION.fullmatch(version):
        return True
    is_dated = is_code_system(system) and not system.startswith(ICH_LISTS)
    return is_dated and _DATED_VERSION.fullmatch(version) is not None


def release_location(value: str) -> str:
    """Return a schema location with the base name of the schema only; "" = it is not one of the standard.

    Example:
        >>> release_location("urn:hl7-org:v3 file:///home/okonkwo/MCCI_IN200100UV01.xsd")
        'urn:hl7-org:v3 MCCI_IN200100UV01.xsd'
        >>> release_location("urn:hl7-org:v3 okonkwo.xsd")
        ''
    """
    words = value.split()
    if len(words) != 2 or words[0] != HL7:
        return ""
    base = re.split(r"[/\\]", words[1])[-1]
    return f"{HL7} {base}" if _SCHEMA.fullmatch(base) else ""
