"""The pages of the service: the one to try it, and the description of its interface."""

from __future__ import annotations

from collections.abc import Iterator

from inverse_deid import __version__
from inverse_deid.choices.categories import Category
from inverse_deid.choices.names import CATEGORY_NAMES
from inverse_deid.choices.questions import Answer, Question, list_questions
from inverse_deid.choices.records import Surface, find_choice, list_choices
from inverse_deid.choices.table import CHOICES
from inverse_deid.core.wording import _
from inverse_deid.formats.registry import FORMATS
from inverse_deid.service.choices import Operator
from inverse_deid.service.description import list_operations
from inverse_deid.service.interface import describe_api
from inverse_deid.service.settings import ServiceSettings
from inverse_deid.web.shell import Pages

PAGES = Pages("inverse_deid.service", "pages")
_CATEGORIES = find_choice(CHOICES, "categories")


def render_page(settings: ServiceSettings) -> str:
    """Return the page to paste a text; it offers what the operator permits."""
    operator = settings.operator
    words = [
        (one.name, _(one.question))
        for one in list_choices(CHOICES, Surface.TRY)
        if one.kind in ("words", "single words")
        and (one.permit is None or one.permit.name in operator.permits)
    ]
    return PAGES.render(
        "try.html",
        version=__version__,
        needs_token=settings.clients is not None,
        has_details=settings.has_details,
        questions=list(_list_questions(operator)),
        categories=[
            (one.value, _(CATEGORY_NAMES[one].many), one in operator.masking.categories) for one in Category
        ],
        may_keep=_CATEGORIES.permit is not None and _CATEGORIES.permit.name in operator.permits,
        words=words,
        suffixes=sorted({suffix for one in FORMATS.values() for suffix in one.suffixes}),
        max_file_bytes=settings.max_file_bytes,
    )


def _list_questions(operator: Operator) -> Iterator[tuple[Question, list[Answer], object]]:
    """Yield the questions with the answers that the operator permits, and the operator's own answer."""
    for question in list_questions(Surface.TRY):
        choice = find_choice(CHOICES, question.name)
        if choice.kind == "categories":  # a box per category instead
            continue
        answers = [one for one in question.answers if operator.may_choose(choice, one.settings[choice.name])]
        if len(answers) > 1:
            yield question, answers, operator.value_of(choice.name)


def render_description() -> str:
    """Return the page that describes the interface."""
    api = describe_api()
    return PAGES.render(
        "docs.html",
        version=__version__,
        summary=api["info"]["summary"],
        operations=list(list_operations(api)),
    )
