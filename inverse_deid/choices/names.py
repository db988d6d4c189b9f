"""The names of categories as users read them, on all surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from inverse_deid.choices.categories import CLASS_OF, Category
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.wording import N_


class Names(NamedTuple):
    """The names of a category."""

    one: str  # with its article
    many: str


CATEGORY_NAMES: Mapping[Category, Names] = MappingProxyType(
    {
        Category.NAME: Names(N_("a name"), N_("names")),
        Category.PLACE: Names(N_("a place or an organisation"), N_("places and organisations")),
        Category.DATE: Names(N_("a date"), N_("dates")),
        Category.AGE: Names(N_("an age"), N_("ages")),
        Category.CONTACT: Names(N_("a phone number or another contact"), N_("contacts")),
        Category.ID: Names(N_("an id number"), N_("id numbers")),
        Category.PROFESSION: Names(N_("a profession"), N_("professions")),
        Category.ORIGIN: Names(N_("an origin"), N_("nationality, religion and language")),
    }
)

CLASS_NAMES: Mapping[HyperClass, Names] = MappingProxyType(
    {hyper: CATEGORY_NAMES[one] for one, hyper in CLASS_OF.items()}
)
"""The same by class of the network."""

TYPE_NAMES: Mapping[PhiType, str] = MappingProxyType(
    {
        PhiType.PATIENT: N_("patient"),
        PhiType.RELATIVE: N_("relative"),
        PhiType.DOCTOR: N_("doctor"),
        PhiType.USERNAME: N_("user name"),
        PhiType.PROFESSION: N_("profession"),
        PhiType.HOSPITAL: N_("hospital"),
        PhiType.ORGANIZATION: N_("organisation"),
        PhiType.STREET: N_("street"),
        PhiType.CITY: N_("city"),
        PhiType.STATE: N_("state or region"),
        PhiType.COUNTRY: N_("country"),
        PhiType.ZIP: N_("postcode"),
        PhiType.LOCATION_OTHER: N_("other place"),
        PhiType.AGE: N_("age"),
        PhiType.DATE: N_("date"),
        PhiType.PHONE: N_("phone number"),
        PhiType.FAX: N_("fax number"),
        PhiType.EMAIL: N_("e-mail address"),
        PhiType.URL: N_("web address"),
        PhiType.IPADDR: N_("IP address"),
        PhiType.SSN: N_("social security number"),
        PhiType.MEDICALRECORD: N_("medical record number"),
        PhiType.HEALTHPLAN: N_("health plan number"),
        PhiType.ACCOUNT: N_("account number"),
        PhiType.LICENSE: N_("licence number"),
        PhiType.VEHICLE: N_("vehicle number"),
        PhiType.DEVICE: N_("device number"),
        PhiType.BIOID: N_("body feature, such as a fingerprint"),
        PhiType.IDNUM: N_("other number"),
    }
)
"""One of each fine type, without an article."""

_PLURALS = {
    PhiType.PATIENT: N_("patients"),
    PhiType.RELATIVE: N_("relatives"),
    PhiType.DOCTOR: N_("health staff"),
    PhiType.USERNAME: N_("user names"),
    PhiType.PROFESSION: N_("professions"),
    PhiType.HOSPITAL: N_("hospitals"),
    PhiType.ORGANIZATION: N_("organisations"),
    PhiType.STREET: N_("streets"),
    PhiType.CITY: N_("cities"),
    PhiType.STATE: N_("states and regions"),
    PhiType.COUNTRY: N_("countries"),
    PhiType.ZIP: N_("postcodes"),
    PhiType.LOCATION_OTHER: N_("other places"),
    PhiType.AGE: N_("ages"),
    PhiType.DATE: N_("dates"),
    PhiType.PHONE: N_("phone numbers"),
    PhiType.FAX: N_("fax numbers"),
    PhiType.EMAIL: N_("e-mail addresses"),
    PhiType.URL: N_("web addresses"),
    PhiType.IPADDR: N_("IP addresses"),
    PhiType.SSN: N_("social security numbers"),
    PhiType.MEDICALRECORD: N_("medical record numbers"),
    PhiType.HEALTHPLAN: N_("health plan numbers"),
    PhiType.ACCOUNT: N_("account numbers"),
    PhiType.LICENSE: N_("licence numbers"),
    PhiType.VEHICLE: N_("vehicle numbers"),
    PhiType.DEVICE: N_("device numbers"),
    PhiType.BIOID: N_("body features, such as fingerprints"),
    PhiType.IDNUM: N_("other numbers"),
}


def name_many(phi_type: PhiType) -> str:
    """Return the name of several of a fine type, to be translated.

    Example:
        >>> [name_many(one) for one in (PhiType.CITY, PhiType.URL, PhiType.PATIENT)]
        ['cities', 'web addresses', 'patients']
    """
    return _PLURALS[phi_type]
