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
    {one: one.value.lower() for one in PhiType}
    | {
        PhiType.USERNAME: "user name",
        PhiType.ORGANIZATION: "organisation",
        PhiType.STATE: "state or region",
        PhiType.ZIP: "postcode",
        PhiType.LOCATION_OTHER: "other place",
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
    PhiType.DOCTOR: "health staff",
    PhiType.STATE: "states and regions",
    PhiType.BIOID: "body features, such as fingerprints",
}


def name_many(phi_type: PhiType) -> str:
    """Return the name of several of a fine type.

    Example:
        >>> [name_many(one) for one in (PhiType.CITY, PhiType.URL, PhiType.PATIENT)]
        ['cities', 'web addresses', 'patients']
    """
    name = TYPE_NAMES[phi_type]
    regular = f"{name[:-1]}ies" if name.endswith("y") else f"{name}{'es' if name.endswith('s') else 's'}"
    return _PLURALS.get(phi_type, regular)
