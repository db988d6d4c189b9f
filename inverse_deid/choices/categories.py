"""Which categories of protected health information (PHI) are masked.

A category is one of the classes that the network tells apart, or `origin`, which dictionaries find. All
classes are masked by default. A category that is left out is *kept*: its words may leave unmasked.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HIPAA_TYPES, HYPER_CLASS_OF, HyperClass
from inverse_deid.core.wording import _


class Category(StrEnum):
    """A category that the user chooses; all but `ORIGIN` are classes of the network."""

    NAME = "name"
    PLACE = "place"
    DATE = "date"
    AGE = "age"
    CONTACT = "contact"
    ID = "id"
    PROFESSION = "profession"
    ORIGIN = "origin"  # nationality, ethnicity, religion and language


Categories = frozenset[Category]

CLASS_OF: Mapping[Category, HyperClass] = MappingProxyType(
    {Category(one.value.lower()): one for one in HyperClass if one is not HyperClass.SAFE}
)
"""The class of the network of every category that it knows."""

ALL_CATEGORIES: Categories = frozenset(CLASS_OF)
"""What is masked by default."""

_HIPAA_CLASSES = {HYPER_CLASS_OF[one] for one in HIPAA_TYPES}

PRESETS: Mapping[str, Categories] = MappingProxyType(
    {
        "all": ALL_CATEGORIES,
        "i2b2": frozenset(one for one, hyper in CLASS_OF.items() if hyper in HYPER_CLASS_OF.values()),
        "hipaa": frozenset(one for one, hyper in CLASS_OF.items() if hyper in _HIPAA_CLASSES),
        "everything": frozenset(Category),
    }
)
"""Named choices. `hipaa` has the classes with a HIPAA identifier, each as a whole: hospitals and
countries are masked as places, and doctors as names. Ages over 89 are masked by every choice."""


def parse_categories(text: str) -> Categories:
    """Return the categories of a choice such as `hipaa`, `all,origin` or `all,-profession`.

    Terms are read from left to right: a preset or a category is added, one after `-` is taken out.

    Raises:
        ConfigurationError: A name is unknown, nothing is left, or the first term is taken out.

    Example:
        >>> sorted(parse_categories("all,-profession,-age"))
        [<Category.CONTACT: 'contact'>, <Category.DATE: 'date'>, <Category.ID: 'id'>, \
<Category.NAME: 'name'>, <Category.PLACE: 'place'>]
    """
    chosen: Categories = frozenset()
    terms = [term.strip().lower() for term in text.split(",")]
    if terms[0].startswith("-"):
        raise ConfigurationError(
            _("begins with a name to take out. Write all before it: all,-NAME"), choice="categories"
        )
    for term in terms:
        name = term.removeprefix("-").strip()
        named = PRESETS.get(name)
        if named is None:
            if name not in set(Category):
                raise ConfigurationError(
                    _(
                        "{name!r} is unknown. Presets are {presets}, and categories are {category}. "
                        "Separate them by commas",
                        name=name,
                        presets=", ".join(PRESETS),
                        category=", ".join(Category),
                    ),
                    choice="categories",
                )
            named = frozenset({Category(name)})
        chosen = chosen - named if term.startswith("-") else chosen | named
    check_categories(chosen)
    return chosen


def check_categories(categories: Categories) -> None:
    """Refuse a choice that masks no class of the network.

    Raises:
        ConfigurationError: No such class is left.
    """
    if not categories & ALL_CATEGORIES:
        raise ConfigurationError(
            _("must leave at least one of {class_of} to be masked", class_of=", ".join(CLASS_OF)),
            choice="categories",
        )


def kept_classes(categories: Categories) -> frozenset[HyperClass]:
    """Return the classes of the network that are not masked.

    Example:
        >>> kept_classes(parse_categories("all,-age,origin"))
        frozenset({<HyperClass.AGE: 'AGE'>})
    """
    return frozenset(hyper for one, hyper in CLASS_OF.items() if one not in categories)


def permits_years(categories: Categories) -> bool:
    """Tell whether these are the categories of `hipaa`: Safe Harbor permits the year of a date.

    Source: 45 CFR 164.514(b)(2)(i)(C).

    Example:
        >>> [permits_years(parse_categories(choice)) for choice in ("hipaa", "hipaa,origin", "all", "date")]
        [True, True, False, False]
    """
    return categories & ALL_CATEGORIES == PRESETS["hipaa"]


def list_categories(categories: Categories) -> list[str]:
    """Return the names of the categories in their fixed order, for reports.

    Example:
        >>> list_categories(frozenset({Category.DATE, Category.NAME}))
        ['name', 'date']
    """
    return [one.value for one in Category if one in categories]
