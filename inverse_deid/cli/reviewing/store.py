"""Options of all `inverse-deid review` commands, `review user` (accounts) and `review serve` (pages)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509 import Certificate, load_pem_x509_certificates
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.secret_files import KEY_COMMAND_OPTION, KEY_VARIABLE, read_secret
from inverse_deid.cli.parts.server_options import read_metrics_token, server_options
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.extras import need_modules
from inverse_deid.core.files import check_private
from inverse_deid.core.wording import N_, _
from inverse_deid.review.people.accounts import (
    add_user,
    end_sessions,
    link_account,
    list_users,
    set_active,
    set_password,
    unlock,
)
from inverse_deid.review.people.attempts import list_blocked
from inverse_deid.review.store.anchors import anchoring
from inverse_deid.review.store.database import store_path
from inverse_deid.review.store.keys import ReviewKey, make_key_file
from inverse_deid.review.store.opening import ReviewStore, open_store
from inverse_deid.review.store.values import UserRole

_FILE = click.Path(dir_okay=False, path_type=Path)

STORE_VARIABLE = "INVERSE_DEID_STORE"

key_option = click.option(
    "--key",
    type=_FILE,
    help=_(
        "File with the key of the store (mode 600). Or set {key_variable}.  [default: STORE.key]",
        key_variable=KEY_VARIABLE,
    ),
)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # noqa: ANN401
    context.meta[_META + str(parameter.name)] = value


_META = "inverse_deid.review."
_OPTIONS = (
    click.option(
        "--store",
        "address",
        metavar="FILE|URL",
        envvar=STORE_VARIABLE,
        help=_("The store of the review. Or set {store_variable}.", store_variable=STORE_VARIABLE),
    ),
    click.option(
        "--store-file", type=_FILE, help=_("File with the URL of the store (mode 600), if it has a password.")
    ),
    key_option,
    click.option(
        "--anchor",
        "anchors",
        multiple=True,
        metavar="FILE|syslog:|tsa:",
        envvar="INVERSE_DEID_ANCHOR",
        expose_value=False,
        callback=_remember,
        help=_("Append the head of the trail here whenever it has grown. Can be given more than once."),
    ),
    click.option(
        "--signing-key",
        type=_FILE,
        envvar="INVERSE_DEID_SIGNING_KEY",
        expose_value=False,
        callback=_remember,
        help=_("Ed25519 key (PEM, mode 600) that signs the trail.  [default: derived from the key]"),
    ),
    KEY_COMMAND_OPTION,
)


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets `address` and `key`."""

    @wraps(command)
    def run(*given: Any, address: str | None, store_file: Path | None, **others: Any) -> Any:  # noqa: ANN401
        return command(*given, address=_find_address(address, store_file), **others)

    wrapped: Callable[..., Any] = run
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _find_address(address: str | None, store_file: Path | None) -> str:
    if store_file is not None:
        if address is not None:
            raise ConfigurationError(
                _(
                    "--store-file and --store or {store_variable} are both given. Leave one out",
                    store_variable=STORE_VARIABLE,
                )
            )
        check_private(store_file)
        secret = read_secret(store_file, "--store-file", "")
        return (secret or b"").decode("utf-8", "replace").strip()
    if address is None:
        raise click.UsageError(_("Missing option '--store' or '--store-file'."))
    source = click.get_current_context().get_parameter_source("address")
    with suppress(ArgumentError):
        if source is ParameterSource.COMMANDLINE and "://" in address and make_url(address).password:
            click.echo(
                _(
                    "WARNING: other users of this computer can see the password in --store. Use "
                    "--store-file, or a password file of PostgreSQL (PGPASSFILE)."
                ),
                err=True,
            )
    return address


def read_key(address: str, key: Path | None) -> ReviewKey:
    """Return the key of a store: from a file, the environment, or the file next to the store.

    Raises:
        ConfigurationError: It is missing, others can read it, or it is given twice.
        UnreadableInputError: The file cannot be read, or neither it nor the store exists.
    """
    given = _read_given_key(key)
    if given is not None:
        return given
    store, path = store_path(address), _key_path(address)
    if path is None or not path.is_file():
        if store is not None and not store.exists():
            raise UnreadableInputError(
                _(
                    "{store} does not exist, nor does its key. Check --store, or make a store with "
                    "inverse-deid review init",
                    store=store,
                )
            )
        raise ConfigurationError(
            _(
                "the key of the store is missing. Use --key FILE, or set {key_variable}",
                key_variable=KEY_VARIABLE,
            )
        )
    check_private(path)
    return ReviewKey(read_secret(path) or b"")


def make_key(address: str, key: Path | None) -> tuple[ReviewKey, Path | None]:
    """Return the key of a new store, and the file made for it, None = it was given.

    Raises:
        ConfigurationError: A new key file cannot be written, or the key is too short.
    """
    given = _read_given_key(key)
    if given is not None:
        return given, None
    path = _key_path(address)
    if path is None:
        raise ConfigurationError(
            _(
                "a store on a server needs a key. Use --key FILE, or set {key_variable}",
                key_variable=KEY_VARIABLE,
            )
        )
    if path.exists():
        return read_key(address, None), None
    return make_key_file(path), path


def _key_path(address: str) -> Path | None:
    path = store_path(address)
    return None if path is None else path.with_name(path.name + ".key")


def _read_given_key(key: Path | None) -> ReviewKey | None:
    if key is not None:
        check_private(key)
    secret = read_secret(key)
    return None if secret is None else ReviewKey(secret)


@contextmanager
def open_given(address: str, key: Path | None) -> Iterator[ReviewStore]:
    """Open the store that the options name, and anchor its trail."""
    with open_store(address, read_key(address, key)) as store, anchor_given(store):
        yield store


@contextmanager
def anchor_given(store: ReviewStore, *, is_new: bool = False) -> Iterator[None]:
    """Sign with the key that the options name, and anchor the trail (of a new store: all of it)."""
    meta = click.get_current_context().meta
    signing_key: Path | None = meta.get(_META + "signing_key")
    if signing_key is not None:
        check_private(signing_key)
        key = _load_pem(signing_key, lambda data: load_pem_private_key(data, None))
        if not isinstance(key, Ed25519PrivateKey):
            raise _not_a_key(signing_key)
        store.signer = key
    with anchoring(store, meta.get(_META + "anchors") or (), is_new=is_new):
        yield


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read the public key of signatures.

    Raises:
        UnreadableInputError: The file cannot be read, or is not an Ed25519 key.
    """
    key = _load_pem(path, load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise _not_a_key(path)
    return key


def read_certificates(path: Path) -> list[Certificate]:
    """Read the certificates of a PEM file.

    Raises:
        UnreadableInputError: The file cannot be read, or has no certificate.
    """
    certificates = _load_pem(path, load_pem_x509_certificates)
    if not isinstance(certificates, list):
        raise UnreadableInputError(_("{path} has no certificate in PEM form", path=path))
    return certificates


def write_public_key(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _load_pem(path: Path, load: Callable[[bytes], object]) -> object:
    with suppress(OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return load(path.read_bytes())
    return None


def _not_a_key(path: Path) -> UnreadableInputError:
    return UnreadableInputError(
        _(
            "{path} is not an Ed25519 key in a PEM file. Make one with openssl genpkey -algorithm ed25519",
            path=path,
        )
    )


@click.group()
def user() -> None:
    """Add, list, close and unlock accounts, change passwords, end sessions."""


@user.command()
@click.argument("name")
@store_options
@click.option("--role", type=click.Choice([str(r) for r in UserRole]), default="reviewer", show_default=True)
def add(name: str, address: str, key: Path | None, role: str) -> None:
    """Add the account NAME. You type the password, or pipe it to standard input."""
    with open_given(address, key) as store:
        made = add_user(store, name, _ask_password(), UserRole(role))
    click.echo(_("{made} can log in as {role}", made=made.name, role=made.role))


@user.command(name="list")
@store_options
def list_(address: str, key: Path | None) -> None:
    """List all accounts."""
    with open_given(address, key) as store:
        blocked = list_blocked(store)
        for one in list_users(store):
            state = "closed" if not one.is_active else "delayed" if one.name in blocked else "open"
            click.echo(f"{one.name:<24} {one.role:<12} {state}")


@user.command()
@click.argument("name")
@store_options
def password(name: str, address: str, key: Path | None) -> None:
    """Change the password of NAME and end all sessions of that account."""
    with open_given(address, key) as store:
        set_password(store, name, _ask_password())
    click.echo(_("the password of {name} is changed", name=name))


@user.command()
@click.argument("name")
@store_options
def close(name: str, address: str, key: Path | None) -> None:
    """Close the account NAME."""
    with open_given(address, key) as store:
        set_active(store, name, is_active=False)
    click.echo(_("the account of {name} is closed", name=name))


@user.command(name="unlock")
@click.argument("name")
@store_options
def unlock_(name: str, address: str, key: Path | None) -> None:
    """Let NAME log in again after too many failures."""
    with open_given(address, key) as store:
        unlock(store, name)
    click.echo(_("{name} can log in again", name=name))


@user.command()
@click.argument("name")
@store_options
def log_out(name: str, address: str, key: Path | None) -> None:
    """End all sessions of NAME."""
    with open_given(address, key) as store:
        n = end_sessions(store, name)
    click.echo(_("sessions ended: {n}", n=n))


@user.command()
@click.argument("name", required=False)
@store_options
@click.option("--require/--optional", "is_required", default=None, help=_("Whether everybody needs one."))
def second_factor(name: str | None, address: str, key: Path | None, is_required: bool | None) -> None:
    """Remove the second factor of NAME, who lost it, or say whether everybody needs one."""
    from inverse_deid.review.people.second_factor import require, turn_off

    if (name is None) == (is_required is None):
        raise ConfigurationError(_("give either NAME, or --require or --optional"))
    with open_given(address, key) as store:
        if name is not None:
            turn_off(store, name)
            click.echo(_("{name} has no second factor now", name=name))
        else:
            require(store, is_required=bool(is_required))
            click.echo(
                _("a second factor is required now") if is_required else _("a second factor is optional now")
            )


@user.command()
@click.argument("name")
@click.argument("issuer")
@click.argument("subject")
@store_options
def link(name: str, issuer: str, subject: str, address: str, key: Path | None) -> None:
    """Let SUBJECT of the OpenID provider ISSUER have the account NAME."""
    with open_given(address, key) as store:
        link_account(store, name, issuer, subject)
    click.echo(_("{name} signs in at {issuer} now", name=name, issuer=issuer))


def _ask_password() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("password", hide_input=True, confirmation_prompt=True, err=True))
    return "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")


_SERVE_HEADINGS = {
    N_("Address and access"): ("host", "port", "certificate", "private_key", "proxy"),
    "Operation": ("metrics_token", "log_format"),
}
_SERVE_EXAMPLES = {
    N_("For this machine"): "inverse-deid review serve --store review.db",
    N_("For a team"): "inverse-deid review serve --store review.db --host 0.0.0.0 --certificate chain.pem "
    "--private-key key.pem",
}


@click.command(
    cls=GroupedCommand, headings=_SERVE_HEADINGS, heading=N_("The store"), examples=_SERVE_EXAMPLES
)
@store_options
@click.option("--host", default="127.0.0.1", show_default=True, help=_("IP address to listen on."))
@click.option("--address", "old_host", hidden=True)
@click.option("--port", type=click.IntRange(1, 65535), default=8017, show_default=True)
@click.option("--certificate", type=_FILE, help=_("TLS certificate chain (PEM)."))
@click.option("--private-key", type=_FILE, help=_("Key of the certificate (PEM)."))
@click.option("--oidc", type=_FILE, help=_("Settings of an OpenID provider (TOML, docs/sign-in.md)."))
@server_options
def serve(
    address: str,
    key: Path | None,
    old_host: str | None,
    oidc: Path | None,
    **given: Any,  # noqa: ANN401
) -> None:
    """Serve the pages of the review until stopped (Ctrl+C, or SIGTERM).

    By default only this machine can reach them. Any other address needs TLS:
    a certificate, or a proxy in front.
    """
    from inverse_deid.review.pages.application import ServeSettings
    from inverse_deid.review.pages.application import serve as run
    from inverse_deid.web.metrics import Metrics
    from inverse_deid.web.server import owned_signals

    token_file, host = given.pop("metrics_token"), given.pop("host")
    metrics = Metrics(read_metrics_token(token_file))

    def reload() -> None:
        metrics.token = read_metrics_token(token_file)

    provider = None
    if oidc is not None:
        need_modules(_("sign-in with OpenID Connect"), "sso", "authlib", "requests")
        from inverse_deid.review.pages.sign_in import open_provider

        provider = open_provider(oidc)
    settings = ServeSettings(address=old_host or host, **given, reload=reload, provider=provider)
    with owned_signals(), open_given(address, key) as store:
        click.echo(_("Open {url} in a browser. Stop with Ctrl+C.", url=settings.url))
        run(store, settings, metrics)
