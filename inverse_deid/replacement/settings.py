"""What the user chooses for the dates, ages and ids of cases."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.replacement.ages import BAND_SCHEMES, AgePolicy, AgesUnder90, BandedAges, MaskedAges
from inverse_deid.replacement.dates.reading import DEFAULT_SPAN_YEARS
from inverse_deid.replacement.keys import check_key

MAX_SPAN_YEARS = 17
_FINGERPRINT_OF_KEY = b"inverse-deid fingerprint of a key 1"


class DateMode(StrEnum):
    MASK = "mask"
    YEAR = "year"
    RELATIVE_DAY = "relative-day"
    SHIFT = "shift"


class AgeMode(StrEnum):
    MASK = "mask"
    BAND = "band"
    KEEP_UNDER_90 = "keep-under-90"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSettings:
    """How the dates, ages and ids of cases are replaced.

    Raises:
        ConfigurationError: A shift without a key, a short key, an unknown scheme, bands without a
            scheme or a scheme without bands, or a span out of range.
    """

    today: date  # the last day that a date of a case can be, if the case does not say it
    dates: DateMode = DateMode.MASK  # mask, year, relative day or shift
    ages: AgeMode = AgeMode.MASK  # mask, band or keep under 90
    age_bands: str | None = None  # the scheme of `AgeMode.BAND`, one for a whole run
    day_first: bool | None = None  # the order of numeric dates; None = as the case shows it
    key: bytes | None = field(default=None, repr=False)  # at least 16 secret bytes, for shifts and pseudonyms
    # Relative days and shifts mask dates further than this from the other dates of a case: 1 to 17, so that
    # no birth of an adult is shown.
    date_span_years: int = DEFAULT_SPAN_YEARS

    def __post_init__(self) -> None:
        schemes = ", ".join(BAND_SCHEMES)
        if self.dates is DateMode.SHIFT and self.key is None:
            raise ConfigurationError(
                _("shift needs a key"),
                choice="dates",
                remedies=[Remedy("key", step=N_("give {}")), Remedy(step=N_("set INVERSE_DEID_KEY"))],
            )
        if self.key is not None:
            check_key(self.key)
        if (self.ages is AgeMode.BAND) != (self.age_bands is not None):
            raise ConfigurationError(
                _("bands of ages need a scheme, and a scheme is for bands"),
                remedies=[
                    Remedy(
                        "ages",
                        "band",
                        also=("age_bands",),
                        step=_("give {{}}, one of {schemes}", schemes=schemes),
                    )
                ],
            )
        if self.age_bands is not None and self.age_bands not in BAND_SCHEMES:
            raise ConfigurationError(
                _(
                    "{age_bands!r} is unknown: give one of {schemes}",
                    age_bands=self.age_bands,
                    schemes=schemes,
                ),
                choice="age_bands",
            )
        if not 1 <= self.date_span_years <= MAX_SPAN_YEARS:
            raise ConfigurationError(
                _(
                    "must be 1 to {max_span_years}, not {date_span_years}: a longer span would show "
                    "dates of birth of adults",
                    max_span_years=MAX_SPAN_YEARS,
                    date_span_years=self.date_span_years,
                ),
                choice="date_span_years",
            )

    @property
    def age_policy(self) -> AgePolicy:
        if self.age_bands is not None:
            return BandedAges(BAND_SCHEMES[self.age_bands])
        return MaskedAges() if self.ages is AgeMode.MASK else AgesUnder90()

    @property
    def replaced(self) -> frozenset[str]:
        """Which of "dates" and "ages" are replaced by anything but a marker."""
        modes = {"dates": self.dates is not DateMode.MASK, "ages": self.ages is not AgeMode.MASK}
        return frozenset(name for name, is_replaced in modes.items() if is_replaced)

    @property
    def replaces(self) -> bool:
        """Whether dates or ages are replaced by anything but a marker."""
        return bool(self.replaced)

    @property
    def fingerprint(self) -> str:
        """Changes with everything that shapes the output; does not reveal the key."""
        key = b"" if self.key is None else hmac.digest(self.key, _FINGERPRINT_OF_KEY, "sha256")
        today = None if self.dates is DateMode.MASK else self.today.isoformat()
        spans = () if today is None else (self.date_span_years,)
        choices = (str(self.dates), str(self.ages), self.age_bands, self.day_first, today, key.hex(), *spans)
        return hashlib.sha256(repr(choices).encode()).hexdigest()
