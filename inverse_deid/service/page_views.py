"""The pages of the service: the one to try it, and the description of its interface."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from inverse_deid import __version__
from inverse_deid.choices.categories import Category
from inverse_deid.core.page_files import COMMON_FOLDER, address_of
from inverse_deid.formats.registry import FORMATS
from inverse_deid.service.choices import OPERATING_POINTS, Permit
from inverse_deid.service.description import describe_api, list_operations
from inverse_deid.service.settings import ServiceSettings

STATIC_FOLDER = Path(__file__).with_name("pages") / "static"
"""Scripts and styles; nothing of a text."""

_POINT_LABELS = {
    "strict": "strict: masks most",
    "balanced": "balanced",
    "lenient": "lenient: masks least",
}
_CATEGORY_LABELS = {
    Category.NAME: "names",
    Category.PLACE: "places, hospitals, organisations",
    Category.DATE: "dates",
    Category.AGE: "ages",
    Category.CONTACT: "phone, e-mail, addresses",
    Category.ID: "id numbers",
    Category.PROFESSION: "professions",
    Category.ORIGIN: "nationality, religion, language",
}


@lru_cache(maxsize=1)
def static_address() -> str:
    """Return the address of scripts and styles; it changes with them, so that browsers may keep them."""
    return address_of([STATIC_FOLDER, COMMON_FOLDER])


@lru_cache(maxsize=1)
def _make_environment() -> Environment:
    return Environment(
        loader=PackageLoader("inverse_deid.service", "pages/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(settings: ServiceSettings) -> str:
    """Return the page to paste a text; it offers what the operator permits."""
    operator = settings.operator
    permits = operator.permits
    own = OPERATING_POINTS.index(operator.operating_point)
    points = OPERATING_POINTS if Permit.STRICTNESS in permits else OPERATING_POINTS[: own + 1]
    return (
        _make_environment()
        .get_template("try.html")
        .render(
            static=static_address(),
            version=__version__,
            needs_token=settings.clients is not None,
            has_details=settings.has_details,
            points=[(point, _POINT_LABELS[point]) for point in points],
            own_point=operator.operating_point,
            categories=[
                (one.value, _CATEGORY_LABELS[one], one in operator.masking.categories) for one in Category
            ],
            shows_categories=Permit.REPLACEMENT in permits or operator.masking.replace == "category",
            is_category=operator.masking.replace == "category",
            permits={str(one) for one in permits},
            suffixes=sorted({suffix for one in FORMATS.values() for suffix in one.suffixes}),
            max_file_bytes=settings.max_file_bytes,
        )
    )


def render_description() -> str:
    """Return the page that describes the interface."""
    api = describe_api()
    return (
        _make_environment()
        .get_template("docs.html")
        .render(
            static=static_address(),
            version=__version__,
            summary=api["info"]["summary"],
            operations=list(list_operations(api)),
        )
    )
