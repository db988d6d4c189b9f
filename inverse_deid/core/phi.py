"""The categories of protected health information (PHI): fine types, hyper-classes, HIPAA identifiers.

Source: 2014 i2b2/UTHealth annotation scheme (Stubbs and Uzuner 2015, table 1);
45 CFR 164.514(b)(2) for the HIPAA identifiers. `RELATIVE` (names of family and
other lay people) is this project's own addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class PhiType(StrEnum):
    """A fine PHI category."""

    PATIENT = "PATIENT"
    RELATIVE = "RELATIVE"
    DOCTOR = "DOCTOR"
    USERNAME = "USERNAME"
    PROFESSION = "PROFESSION"
    HOSPITAL = "HOSPITAL"
    ORGANIZATION = "ORGANIZATION"
    STREET = "STREET"
    CITY = "CITY"
    STATE = "STATE"
    COUNTRY = "COUNTRY"
    ZIP = "ZIP"
    LOCATION_OTHER = "LOCATION-OTHER"
    AGE = "AGE"
    DATE = "DATE"
    PHONE = "PHONE"
    FAX = "FAX"
    EMAIL = "EMAIL"
    URL = "URL"
    IPADDR = "IPADDR"
    SSN = "SSN"
    MEDICALRECORD = "MEDICALRECORD"
    HEALTHPLAN = "HEALTHPLAN"
    ACCOUNT = "ACCOUNT"
    LICENSE = "LICENSE"
    VEHICLE = "VEHICLE"
    DEVICE = "DEVICE"
    BIOID = "BIOID"
    IDNUM = "IDNUM"


class HyperClass(StrEnum):
    """The classes of the network: *safe* and seven groups of PHI."""

    SAFE = "SAFE"
    NAME = "NAME"
    PLACE = "PLACE"
    DATE = "DATE"
    AGE = "AGE"
    CONTACT = "CONTACT"
    ID = "ID"
    PROFESSION = "PROFESSION"


_MEMBERS: dict[HyperClass, str] = {
    HyperClass.NAME: "PATIENT RELATIVE DOCTOR USERNAME",
    HyperClass.PLACE: "HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER",
    HyperClass.DATE: "DATE",
    HyperClass.AGE: "AGE",
    HyperClass.CONTACT: "PHONE FAX EMAIL URL IPADDR",
    HyperClass.ID: "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM",
    HyperClass.PROFESSION: "PROFESSION",
}

HYPER_CLASS_OF: Mapping[PhiType, HyperClass] = MappingProxyType(
    {PhiType(name): hyper for hyper, names in _MEMBERS.items() for name in names.split()}
)
"""The hyper-class of every fine type."""

HIPAA_TYPES: frozenset[PhiType] = frozenset(PhiType) - {
    PhiType.DOCTOR,
    PhiType.PROFESSION,
    PhiType.HOSPITAL,
    PhiType.STATE,
    PhiType.COUNTRY,
    PhiType.AGE,
    PhiType.USERNAME,
}
"""Fine types that are HIPAA identifiers (ages only above 89, hence not `AGE`)."""

TypeMapping = Mapping[str, PhiType]
"""The meaning of the type names of an annotation scheme."""

OUR_TYPES: TypeMapping = MappingProxyType({phi_type.value: phi_type for phi_type in PhiType})
"""The names of the 2014 i2b2 task, which need no mapping."""
