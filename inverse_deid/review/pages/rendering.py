"""Templates: autoescape on, unknown names are errors, nothing but the package's own files."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from inverse_deid.review.sessions import Session

THEMES = ("light", "dark")
THEME_COOKIE = "theme"

STATIC_FOLDER = Path(__file__).with_name("static")
"""Scripts and styles; nothing of a case."""


@lru_cache(maxsize=1)
def static_address() -> str:
    """Where they are served. The address changes with what they hold, so that browsers may keep them."""
    digest = hashlib.sha256()
    for file in sorted(STATIC_FOLDER.iterdir()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return f"/static/{digest.hexdigest()[:16]}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("inverse_deid.review.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(
    request: Request,
    template: str,
    session: Session | None,
    *,
    status: int = 200,
    **values: Any,  # noqa: ANN401
) -> HTMLResponse:
    """A page from a template.

    Args:
        request: For its theme.
        template: Name of the file.
        session: Of who is logged in, None = nobody.
        status: Of HTTP.
        **values: For the template.
    """
    theme = request.cookies.get(THEME_COOKIE, "")
    common = {
        "user": None if session is None else session.user,
        "csrf_token": "" if session is None else session.csrf_token,
        "theme": theme if theme in THEMES else "",
        "path": request.url.path,
        "static": static_address(),
    }
    html = _environment().get_template(template).render(**{**common, **values})
    return HTMLResponse(html, status_code=status)
