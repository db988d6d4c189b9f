"""What figures, categories and sections are called on the page, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_MAX_CHARS = 80

FIGURE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "recall_all": "Identifying words masked (recall)",
        "recall_all_corrected": "harmless words counted as masked",
        "recall_hipaa": "Identifying words masked, HIPAA categories",
        "recall_hipaa_corrected": "harmless words counted as masked",
        "recall_short_names": "Words of names masked, at most 3 characters",
        "precision": "Masked words that identify (precision)",
        "precision_overlap": "longer words right and wrong once each",
        "safe_kept": "Safe words kept",
        "documents_without_leak": "Documents without a leak",
        "documents_without_hipaa_leak": "of the HIPAA categories",
        "entities_masked": "Identifiers with all mentions masked",
    }
)
"""Labels of the figures, in the order of the page; those that begin small belong to the one before."""

CATEGORY_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "NAME": "Names",
        "PLACE": "Places, organisations",
        "CONTACT": "Contacts",
        "ID": "Numbers and codes",
        "PATIENT": "Patients",
        "RELATIVE": "Relatives",
        "DOCTOR": "Health staff",
        "USERNAME": "User names",
        "PROFESSION": "Professions",
        "HOSPITAL": "Hospitals",
        "ORGANIZATION": "Organisations",
        "STREET": "Streets",
        "CITY": "Cities",
        "STATE": "States",
        "COUNTRY": "Countries",
        "ZIP": "Postal codes",
        "LOCATION-OTHER": "Other places",
        "AGE": "Ages",
        "DATE": "Dates",
        "PHONE": "Phone numbers",
        "FAX": "Fax numbers",
        "EMAIL": "E-mail addresses",
        "URL": "Web addresses",
        "IPADDR": "IP addresses",
        "SSN": "Social security numbers",
        "MEDICALRECORD": "Medical record numbers",
        "HEALTHPLAN": "Health plan numbers",
        "ACCOUNT": "Account numbers",
        "LICENSE": "Licence numbers",
        "VEHICLE": "Vehicle numbers",
        "DEVICE": "Device numbers",
        "BIOID": "Biometric identifiers",
        "IDNUM": "Other numbers",
    }
)
"""Labels of hyper-classes and fine types."""

KIND_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "word": "Other words",
        "clinical": "Clinical words",
        "number": "Numbers",
        "mixed": "Letters and digits",
    }
)
"""Labels of the kinds of safe words."""


SETTING_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "units": "Independent units",
        "units_with_phi": "Independent units with identifiers",
        "resamples": "Resamples for the intervals",
        "seed": "Seed of the resamples",
    }
)
"""Labels of settings whose own names say too little."""


@dataclass(frozen=True, slots=True)
class SectionText:
    """Title and introduction of a further section."""

    title: str
    sentence: str


FURTHER_SECTIONS: Mapping[str, SectionText] = MappingProxyType(
    {
        "utility": SectionText(
            "What is left for causality assessment",
            "Marked pieces of the narratives that an assessor needs, and how many the masking left whole.",
        ),
        "extraction": SectionText(
            "What a search for concepts loses",
            "An extractor read the original and the masked texts; F1 counts concepts of which both ends and "
            "the type are right. The difference is masked less original, p is that of a paired permutation "
            "test over documents.",
        ),
        "risk": SectionText(
            "Risk of re-identification",
            "An estimate from what leaked, under assumptions that are inputs, in the form of Scaiano et al. "
            "(2016). It is no proof that the documents are anonymous.",
        ),
        "grades": SectionText(
            "What the missed words give away",
            "Reviewers graded every missed word as a direct identifier, an indirect one, or none.",
        ),
    }
)
"""Sections that a report may hold besides the evaluation itself, in the order of the page."""


def plain_label(key: object) -> str:
    """A key of a report as words.

    Example:
        >>> plain_label("safe_kept"), plain_label("DRUG")
        ('Safe kept', 'DRUG')
    """
    words = " ".join(str(key).replace("_", " ").split())[:_MAX_CHARS]
    return words[:1].upper() + words[1:]
