"""`inverse-deid serve`: masking over HTTP."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.choices.records import Surface
from inverse_deid.choices.table import PERMITS
from inverse_deid.cli.parts.choice_options import choice_options, list_headings, take_choices
from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.server_options import read_metrics_token, read_private, server_options
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import need_modules
from inverse_deid.core.files import check_private
from inverse_deid.core.wording import N_, _

if TYPE_CHECKING:
    from inverse_deid.masking.choices import Chosen
    from inverse_deid.service.clients import Clients

TOKEN_VARIABLE = "INVERSE_DEID_TOKEN"  # noqa: S105 - the name of a variable

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(path_type=Path)


_HEADINGS = {
    N_("Address and access"): ("host", "port", "token_file", "tokens", "proxy", "metrics_token"),
    N_("What is masked"): (),
    N_("What replaces it"): (),
    N_("What requests may choose"): ("permit", "no_details"),
    N_("Limits and log of requests"): (
        "max_bytes",
        "max_documents",
        "max_file_bytes",
        "seconds",
        "log_requests",
        "log_format",
    ),
} | list_headings(Surface.SERVE)

_EXAMPLES = {
    N_("For programs on this machine"): "inverse-deid serve --port 8080",
    N_("Behind a proxy on another machine"): "inverse-deid serve --host 10.0.0.5 --token-file token",
}


@click.command(cls=GroupedCommand, headings=_HEADINGS, examples=_EXAMPLES)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help=_("Address to listen on. Any other needs a token.")
)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option(
    "--token-file",
    type=_FILE,
    help=_(
        "File with the token that clients must send (mode 600). Or set {token_variable}.",
        token_variable=TOKEN_VARIABLE,
    ),
)
@click.option(
    "--tokens",
    type=_FILE,
    help=_(
        "TOML file with a name, the hash of a token, and limits per client (mode 600, see docs/service.md)."
    ),
)
@click.option(
    "--max-bytes", type=click.IntRange(1), default=1_000_000, show_default=True, help=_("Size of a request.")
)
@click.option(
    "--max-documents",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help=_("Documents per request."),
)
@click.option(
    "--max-file-bytes",
    type=click.IntRange(1),
    default=10_000_000,
    show_default=True,
    help=_("Size of a file."),
)
@click.option(
    "--seconds", type=click.FloatRange(0.01), default=30.0, show_default=True, help=_("Time per request.")
)
@click.option(
    "--log-requests", is_flag=True, help=_("Log method, path, status, time and client of each request.")
)
@server_options
@choice_options(Surface.SERVE)
@click.option(
    "--permit",
    metavar="LIST",
    default="none",
    show_default=True,
    help=_(
        "Let requests choose what can mask less: all, none, or some of {permits}. Requests may always "
        "mask more.",
        permits=", ".join(PERMITS),
    ),
)
@click.option(
    "--no-details", is_flag=True, help=_("Never tell in an answer where and why something was masked.")
)
def serve(**given: Any) -> None:  # noqa: ANN401 - click's options, typed above
    """Mask documents over HTTP, and show a page to try it at /.

    POST /mask takes texts, POST /mask-file takes files. /docs describes the
    interface.

    On any address but a loopback address, clients must send the token
    (Authorization: Bearer TOKEN). Run the service behind a reverse proxy that
    ends TLS. No text is logged or kept. See docs/service.md.
    """
    need_modules(
        _("the service"),
        "serve",
        "starlette",
        "uvicorn",
        "httptools",
        "prometheus_client",
        "python_multipart",
    )
    from inverse_deid.masking.assemble import build_deidentifier, load_parts
    from inverse_deid.masking.case_masker import CaseMasker
    from inverse_deid.masking.choices import choose_settings
    from inverse_deid.service.app import build_app, serve_app
    from inverse_deid.service.choices import Operator, parse_permits
    from inverse_deid.service.settings import ServiceSettings, check_address
    from inverse_deid.web.metrics import Metrics
    from inverse_deid.web.server import WebSettings
    from inverse_deid.web.shell import LOOPBACK_NAMES

    clients = read_clients(given["token_file"], given["tokens"])
    check_address(given["host"], clients, given["proxy"])
    metrics = Metrics(read_metrics_token(given["metrics_token"]))
    choices = take_choices(given)
    served = choose_settings(None, choices, date.today(), surface=Surface.SERVE)  # noqa: DTZ011, RUF100
    masking = served.masking
    settings = ServiceSettings(
        operator=Operator(masking, parse_permits(given["permit"])),
        has_details=not given["no_details"],
        clients=clients,
        # Without a token, a page of another site could ask by a name of its own for this machine.
        hosts=LOOPBACK_NAMES | {given["host"].lower()} if clients is None else None,
        max_body_bytes=given["max_bytes"],
        max_documents=given["max_documents"],
        max_file_bytes=given["max_file_bytes"],
        seconds=given["seconds"],
    )
    parts = load_parts(masking)
    build_deidentifier(masking, parts)  # settings that cannot be used are refused before anybody asks
    for note in served.notes:
        click.echo(_("WARNING: {note}.", note=note), err=True)

    unused, own = [parts], local()

    def make_masker(chosen: Chosen) -> CaseMasker:
        # Parts belong to one thread. The second, for long texts, loads them when the first long text comes.
        if not hasattr(own, "parts"):
            own.parts = unused.pop() if unused else load_parts(masking)
        return CaseMasker(build_deidentifier(chosen.masking, own.parts), chosen.cases)

    def reload() -> None:
        fresh, token = (
            read_clients(given["token_file"], given["tokens"]),
            read_metrics_token(given["metrics_token"]),
        )
        if clients is not None and fresh is not None:
            clients.replace(fresh)
        metrics.token = token

    web = WebSettings(
        host=given["host"],
        port=given["port"],
        proxy=given["proxy"],
        body_seconds=given["seconds"],
        stop_seconds=round(given["seconds"]) + 1,
        log_format=given["log_format"],
        reload=reload,
    )
    app = build_app(make_masker, settings, metrics)
    serve_app(app, web, metrics, log_requests=given["log_requests"])


def read_clients(token_file: Path | None, tokens: Path | None) -> Clients | None:
    """Return who may ask: the clients of a TOML file, or one with a token of a file or of the environment.

    Returns:
        None = nothing is given.

    Raises:
        UnreadableInputError: A file cannot be read.
        ConfigurationError: Two are given, other users can read a file, or a token cannot be used.
    """
    from inverse_deid.service.clients import Clients

    secret = read_private(token_file, "--token-file", TOKEN_VARIABLE)
    if tokens is None:
        return None if secret is None else Clients.of_token(secret.decode("latin-1").strip("\r\n"))
    if secret is not None:
        raise ConfigurationError(
            _(
                "--tokens and --token-file or {token_variable} are both given. Leave one out",
                token_variable=TOKEN_VARIABLE,
            )
        )
    check_private(tokens)
    return Clients.read(tokens)
