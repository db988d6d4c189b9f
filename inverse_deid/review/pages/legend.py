"""Letters of categories and reasons: no meaning is carried by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import Reason
from inverse_deid.review.values import CATEGORIES

GROUP_LETTERS: Mapping[HyperClass, str] = MappingProxyType(
    {
        HyperClass.NAME: "N",
        HyperClass.PLACE: "P",
        HyperClass.DATE: "D",
        HyperClass.AGE: "A",
        HyperClass.CONTACT: "C",
        HyperClass.ID: "I",
        HyperClass.PROFESSION: "J",
    }
)

CATEGORY_CODES: Mapping[PhiType, str] = MappingProxyType(
    {
        PhiType.PATIENT: "PA",
        PhiType.RELATIVE: "RE",
        PhiType.DOCTOR: "DR",
        PhiType.USERNAME: "US",
        PhiType.PROFESSION: "JO",
        PhiType.HOSPITAL: "HO",
        PhiType.ORGANIZATION: "OR",
        PhiType.STREET: "ST",
        PhiType.CITY: "CI",
        PhiType.STATE: "SA",
        PhiType.COUNTRY: "CO",
        PhiType.ZIP: "ZI",
        PhiType.LOCATION_OTHER: "LO",
        PhiType.AGE: "AG",
        PhiType.DATE: "DA",
        PhiType.PHONE: "PH",
        PhiType.FAX: "FX",
        PhiType.EMAIL: "EM",
        PhiType.URL: "UR",
        PhiType.IPADDR: "IP",
        PhiType.SSN: "SS",
        PhiType.MEDICALRECORD: "MR",
        PhiType.HEALTHPLAN: "HP",
        PhiType.ACCOUNT: "AC",
        PhiType.LICENSE: "LI",
        PhiType.VEHICLE: "VE",
        PhiType.DEVICE: "DE",
        PhiType.BIOID: "BI",
        PhiType.IDNUM: "ID",
    }
)
"""Two letters each; typed in the category menu of the reading page."""

REASONS: Mapping[Reason, tuple[str, str]] = MappingProxyType(
    {
        Reason.KEPT_SAFE_WORD: ("S", "the dictionaries call it safe, and the model agrees"),
        Reason.KEPT_BY_NETWORK: ("N", "the model alone is sure that it is safe"),
        Reason.BELOW_THRESHOLD: ("B", "the model is not sure enough that it is safe"),
        Reason.NEVER_SAFE_WORD: ("X", "a word that is never safe"),
        Reason.VETO_PATTERN: ("P", "has the form of an identifier"),
        Reason.NAME_WITH_TITLE: ("T", "stands behind a title, as names do"),
        Reason.OTHER_MENTION: ("M", "is masked elsewhere in the case"),
        Reason.KNOWN_IDENTIFIER: ("K", "a known identifier of the case"),
        Reason.DENY_LIST: ("D", "stands on the deny list"),
        Reason.FAILED_CLOSED: ("F", "the masking failed here, so all is masked"),
        Reason.KEPT_ALLOW_LIST: ("A", "stands on the allow list"),
        Reason.RULES_ONLY_UNSAFE: ("R", "the dictionaries do not call it safe (no model)"),
        Reason.JOINED_TO_MASKED: ("J", "is joined to a masked word"),
        Reason.NAME_ONLY_WORD: ("L", "is known as a name only"),
    }
)
"""A letter and a sentence for each reason of the model."""


def legend() -> dict[str, object]:
    """What the reading page needs to name categories and reasons.

    Example:
        >>> legend()["categories"][0]
        {'name': 'PATIENT', 'code': 'PA', 'group': 'N'}
    """
    categories = [
        {"name": one.value, "code": CATEGORY_CODES[one], "group": GROUP_LETTERS[HYPER_CLASS_OF[one]]}
        for one in CATEGORIES
    ]
    reasons = [{"code": REASONS[one][0], "text": REASONS[one][1]} for one in Reason]
    groups = [{"name": hyper.value, "letter": letter} for hyper, letter in GROUP_LETTERS.items()]
    return {"categories": categories, "reasons": reasons, "groups": groups}
