"""What stands in the age fields of a case safety report, in agreement with the ages of its texts."""

from __future__ import annotations

from inverse_deid.formats.icsr.ages import (
    AGE_GROUP,
    DECADE,
    GESTATION,
    HIGH_AGE_YEARS,
    AgeElement,
    years_of,
)
from inverse_deid.replacement.ages import AgePolicy, AgesUnder90, BandedAges

_BANDS_THAT_FIT_DECADES = ("5-years", "10-years")


def age_field(field: AgeElement, policy: AgePolicy) -> AgeElement | None:
    """What stands in an age field, None = nothing.

    An age of 90 years or more never stays. A band of years becomes the decade, the one band that
    E2B can say; the `e2b` bands are the age groups, and the field of a group stays. A gestation
    period has no band.

    Args:
        field: As it is written.
        policy: What becomes of ages.

    Example:
        >>> age_field(AgeElement("D.2.2a", "48", "a"), AgesUnder90()).number
        '48'
        >>> age_field(AgeElement("D.2.2a", "94", "a"), AgesUnder90()) is None
        True
    """
    if not isinstance(policy, AgesUnder90 | BandedAges):
        return None
    if field.element == AGE_GROUP:
        return field
    years = years_of(field.number, field.unit)
    if years is None or years >= HIGH_AGE_YEARS:
        return None
    if isinstance(policy, AgesUnder90):
        return field
    if field.element in GESTATION or policy.scheme.name not in _BANDS_THAT_FIT_DECADES:
        return None
    return AgeElement(field.element, f"{int(years // 10)}", DECADE)
