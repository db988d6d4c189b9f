"""The names of categories as users read them, on all surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from inverse_deid.choices.categories import CLASS_OF, Category
from inverse_deid.core.phi import HyperClass, PhiType


class Names(NamedTuple):
    """The names of a category."""

    one: str  # with its article
    many: str


CATEGORY_NAMES: Mapping[Category, Names] = MappingProxyType(
    {
        Category.NAME: Names("a name", "names"),
        Category.PLACE: Names("a place or an organisation", "places and organisations"),
        Category.DATE: Names("a date", "dates"),
        Category.AGE: Names("an age", "ages"),
        Category.CONTACT: Names("a phone number or another contact", "contacts"),
        Category.ID: Names("an id number", "id numbers"),
        Category.PROFESSION: Names("a profession", "professions"),
        Category.ORIGIN: Names("an origin", "nationality, religion and language"),
    }
)

CLASS_NAMES: Mapping[HyperClass, Names] = MappingProxyType(
    {hyper: CATEGORY_NAMES[one] for one, hyper in CLASS_OF.items()}
)
"""The same by class of the network."""

TYPE_NAMES: Mapping[PhiType, str] = MappingProxyType(
    {
        PhiType.PATIENT: "patient",
        PhiType.RELATIVE: "relative",
        PhiType.DOCTOR: "doctor",
        PhiType.USERNAME: "user name",
        PhiType.PROFESSION: "profession",
        PhiType.HOSPITAL: "hospital",
        PhiType.ORGANIZATION: "organisation",
        PhiType.STREET: "street",
        PhiType.CITY: "city",
        PhiType.STATE: "state or region",
        PhiType.COUNTRY: "country",
        PhiType.ZIP: "postcode",
        PhiType.LOCATION_OTHER: "other place",
        PhiType.AGE: "age",
        PhiType.DATE: "date",
        PhiType.PHONE: "phone number",
        PhiType.FAX: "fax number",
        PhiType.EMAIL: "e-mail address",
        PhiType.URL: "web address",
        PhiType.IPADDR: "IP address",
        PhiType.SSN: "social security number",
        PhiType.MEDICALRECORD: "medical record number",
        PhiType.HEALTHPLAN: "health plan number",
        PhiType.ACCOUNT: "account number",
        PhiType.LICENSE: "licence number",
        PhiType.VEHICLE: "vehicle number",
        PhiType.DEVICE: "device number",
        PhiType.BIOID: "body feature, such as a fingerprint",
        PhiType.IDNUM: "other number",
    }
)
"""One of each fine type, without an article."""

_PLURALS = {
    PhiType.PATIENT: "patients",
    PhiType.RELATIVE: "relatives",
    PhiType.DOCTOR: "health staff",
    PhiType.USERNAME: "user names",
    PhiType.PROFESSION: "professions",
    PhiType.HOSPITAL: "hospitals",
    PhiType.ORGANIZATION: "organisations",
    PhiType.STREET: "streets",
    PhiType.CITY: "cities",
    PhiType.STATE: "states and regions",
    PhiType.COUNTRY: "countries",
    PhiType.ZIP: "postcodes",
    PhiType.LOCATION_OTHER: "other places",
    PhiType.AGE: "ages",
    PhiType.DATE: "dates",
    PhiType.PHONE: "phone numbers",
    PhiType.FAX: "fax numbers",
    PhiType.EMAIL: "e-mail addresses",
    PhiType.URL: "web addresses",
    PhiType.IPADDR: "IP addresses",
    PhiType.SSN: "social security numbers",
    PhiType.MEDICALRECORD: "medical record numbers",
    PhiType.HEALTHPLAN: "health plan numbers",
    PhiType.ACCOUNT: "account numbers",
    PhiType.LICENSE: "licence numbers",
    PhiType.VEHICLE: "vehicle numbers",
    PhiType.DEVICE: "device numbers",
    PhiType.BIOID: "body features, such as fingerprints",
    PhiType.IDNUM: "other numbers",
}


def name_many(phi_type: PhiType) -> str:
    """Return the name of several of a fine type, to be translated.

    Example:
        >>> [name_many(one) for one in (PhiType.CITY, PhiType.URL, PhiType.PATIENT)]
        ['cities', 'web addresses', 'patients']
    """
    return _PLURALS[phi_type]
