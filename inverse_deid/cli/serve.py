"""`inverse-deid serve`: masking over HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.extras import need_modules
from inverse_deid.formats.registry import input_errors

if TYPE_CHECKING:
    from inverse_deid.masking.assemble import MaskingSettings
    from inverse_deid.replacement.markers import MarkerKind
    from inverse_deid.service.settings import Token

TOKEN_VARIABLE = "INVERSE_DEID_TOKEN"  # noqa: S105 - the name of a variable
_MAX_TOKEN_BYTES = 4096

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(path_type=Path)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address needs a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option(
    "--token-file", type=_FILE, help=f"File with the token that clients must send; or set {TOKEN_VARIABLE}."
)
@click.option("--max-bytes", type=click.IntRange(1), default=1_000_000, show_default=True, help="A request.")
@click.option("--max-documents", type=click.IntRange(1), default=1000, show_default=True, help="A request.")
@click.option("--seconds", type=click.FloatRange(0.01), default=30.0, show_default=True, help="A request.")
@click.option("--log-requests", is_flag=True, help="Log method, path, status and time of each request.")
@click.option(
    "--operating-point", type=click.Choice(["strict", "balanced", "lenient"]), help="[default: balanced]"
)
@click.option(
    "--allow-low-thresholds",
    is_flag=True,
    help="Serve even with thresholds that keep words that are probably identifiers.",
)
@click.option(
    "--replace",
    type=click.Choice(["marker", "category"]),
    default="marker",
    show_default=True,
    help="Show the marker PHI, or the suspected category ([NAME], [DATE] ...).",
)
@click.option("--model", type=_FOLDER, help="Folder of another model.")
@click.option("--lexicon", type=_FILE, help="Another lexicon.")
@click.option(
    "--threads", type=click.IntRange(0), default=1, show_default=True, help="For the network; 0 = one a core."
)
def serve(**given: Any) -> None:  # noqa: ANN401 - click's options, typed in ServeOptions
    """Mask documents over HTTP: POST /mask, GET /health, GET /openapi.json.

    Whoever reaches any other than a loopback address must send the token
    (Authorization: Bearer TOKEN); put a server that speaks TLS before it. No
    text is logged or kept. docs/service.md says more.
    """
    need_modules("the service", "serve", "starlette", "uvicorn")
    _serve(ServeOptions(**given))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What was given on the command line."""

    host: str
    port: int
    token_file: Path | None
    max_bytes: int
    max_documents: int
    seconds: float
    log_requests: bool
    operating_point: str | None
    allow_low_thresholds: bool
    replace: MarkerKind
    model: Path | None
    lexicon: Path | None
    threads: int

    def masking(self) -> MaskingSettings:
        """The part that the de-identifier needs."""
        from inverse_deid.masking.assemble import MaskingSettings

        return MaskingSettings(
            model=self.model,
            lexicon=self.lexicon,
            operating_point=self.operating_point,
            allow_low_thresholds=self.allow_low_thresholds,
            replace=self.replace,
            n_threads=self.threads,
        )


def _serve(options: ServeOptions) -> None:
    """Check what is quick to check, load the model, serve."""
    from inverse_deid.masking.assemble import build_deidentifier
    from inverse_deid.service.app import build_app
    from inverse_deid.service.server import serve_app
    from inverse_deid.service.settings import ServiceSettings, check_address

    token = read_token(options.token_file)
    check_address(options.host, token)
    settings = ServiceSettings(
        operating_point=options.operating_point or "balanced",
        token=token,
        max_body_bytes=options.max_bytes,
        max_documents=options.max_documents,
        seconds=options.seconds,
    )
    app = build_app(build_deidentifier(options.masking()), settings)
    serve_app(app, options.host, options.port, seconds=options.seconds, log_requests=options.log_requests)


def read_token(path: Path | None) -> Token | None:
    """The token of a file or of the environment, None = none was given.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: Both are given, or the token cannot be used.
    """
    from inverse_deid.service.settings import Token

    from_environment = os.environ.get(TOKEN_VARIABLE)
    if path is None:
        return None if from_environment is None else Token.of(from_environment)
    if from_environment is not None:
        raise ConfigurationError(f"--token-file and {TOKEN_VARIABLE} are both given; leave one of them out")
    try:
        with input_errors(), path.open("rb") as stream:
            secret = stream.read(_MAX_TOKEN_BYTES + 1)
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None
    if len(secret) > _MAX_TOKEN_BYTES:
        raise ConfigurationError(f"{path} holds no token: it is longer than {_MAX_TOKEN_BYTES} bytes")
    return Token.of(secret.decode("latin-1").strip("\r\n"))
