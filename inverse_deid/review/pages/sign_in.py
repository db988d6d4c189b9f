"""Sign-in at an OpenID provider: authorization code flow with PKCE, state and nonce.

The provider says who somebody is and which roles they have. Both come from the signed ID token alone. The
address for the way back is a setting, never the `Host` of a request. State, nonce and verifier are sealed in
a cookie, so that the flow works in several processes.

Source: OpenID Connect Core 1.0, section 3.1; RFC 9700 (best practice for OAuth 2.0).
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import msgspec
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client import BaseApp, OpenIDMixin
from authlib.integrations.base_client.sync_app import OAuth2Mixin
from authlib.integrations.requests_client import OAuth2Session
from joserfc.errors import JoseError
from requests import RequestException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inverse_deid.core.errors import ConfigurationError, LogInError, UnreadableInputError, describe_error
from inverse_deid.core.files import check_private
from inverse_deid.core.settings import read_settings
from inverse_deid.core.wording import N_, _
from inverse_deid.review.pages.lanes import find_browser, make_browser, remember_browser
from inverse_deid.review.pages.visits import (
    LOG,
    find_address,
    guard,
    make_sentence,
    render_log_in,
    render_page,
    set_cookie,
)
from inverse_deid.review.people.accounts import Identity, sign_in
from inverse_deid.review.people.attempts import Client, record_failure
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.values import UserRole

CALLBACK = "/signed-in"
FLOW_MINUTES = 10
MAX_METADATA_SECONDS = 600.0
LEEWAY_SECONDS = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures that need the key of the provider: never none, nor one made with the secret of the client."""

_FOREIGN = (AuthlibBaseError, JoseError, RequestException, ValueError, KeyError, TypeError, RuntimeError)
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", "end_session_endpoint")


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The TOML file of `review serve --oidc`.

    Raises:
        ConfigurationError: No role, or an address without TLS that is not of this machine.
    """

    issuer: str
    client_id: str
    client_secret_file: Path
    address: str  # the public one of the review, such as `https://review.example.org`
    # From their names to roles of the store; the first in the file that a person has applies.
    roles: dict[str, UserRole]
    # The name of a claim, or the way to it; its value is a role or a list of roles.
    role_claim: str | tuple[str, ...] = "roles"
    name_claim: str = "preferred_username"
    title: str = N_("your organisation")
    local_accounts: bool = True

    def __post_init__(self) -> None:
        if not self.roles:
            raise ConfigurationError(
                _("roles: no role. Map at least one role of the provider to one of the store")
            )
        for name in ("issuer", "address"):
            if not is_safe_address(getattr(self, name)):
                raise ConfigurationError(_("{name}: must begin with https://", name=name))


def is_safe_address(address: object) -> bool:
    """Whether an address uses TLS, or is one of this machine.

    Example:
        >>> is_safe_address("https://login.example.org"), is_safe_address("http://login.example.org")
        (True, False)
    """
    if not isinstance(address, str):
        return False
    try:
        parts = urlsplit(address)
        is_local = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_local = False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and is_local))


class _Session(OAuth2Session):  # type: ignore[misc]
    """A session that follows no redirect: only the addresses that the provider states are called."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - as authlib calls it
        super().__init__(*given, **options)
        self.max_redirects = 0


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    client_cls = _Session


class Provider:
    """An OpenID provider; safe to share between threads. Its metadata are at most ten minutes old."""

    def __init__(self, settings: ProviderSettings) -> None:
        check_private(settings.client_secret_file)
        try:
            secret = settings.client_secret_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise UnreadableInputError(
                _("{client_secret_file} cannot be read", client_secret_file=settings.client_secret_file)
            ) from None
        self.settings = settings
        self.title = settings.title
        self._callback = settings.address.rstrip("/") + CALLBACK
        self._secret = secret
        self._lock = Lock()
        self._client: _Client | None = None
        self._loaded_at = 0.0

    def _connect(self) -> _Client:
        # With metadata that is not too old.
        with self._lock:
            if self._client is None or time.monotonic() - self._loaded_at > MAX_METADATA_SECONDS:
                client = _Client(
                    None,
                    client_id=self.settings.client_id,
                    client_secret=self._secret,
                    server_metadata_url=self.settings.issuer.rstrip("/")
                    + "/.well-known/openid-configuration",
                    client_kwargs={
                        "scope": "openid profile email",
                        "code_challenge_method": "S256",
                        "default_timeout": 10,
                    },
                )
                found = client.load_server_metadata()
                if found.get("issuer") != self.settings.issuer:
                    raise ValueError
                if not all(is_safe_address(found[one]) for one in _ENDPOINTS if found.get(one) is not None):
                    raise ValueError
                stated = found.get("id_token_signing_alg_values_supported", ["RS256"])
                found["id_token_signing_alg_values_supported"] = [one for one in ALGORITHMS if one in stated]
                self._client, self._loaded_at = client, time.monotonic()
            return self._client

    def begin(self) -> tuple[str, dict[str, str]]:
        """Return the address where somebody signs in, and what must be remembered until they come back."""
        made = self._connect().create_authorization_url(self._callback)
        return made["url"], {name: made[name] for name in ("state", "nonce", "code_verifier")}

    def finish(self, flow: Mapping[str, str], given: Mapping[str, str]) -> Identity:
        """Exchange the code of an answer for an ID token, and return who it is about.

        Raises:
            LogInError: The answer does not belong to the flow, or the token is not valid.
        """
        if given.get("state") != flow["state"] or not given.get("code"):
            raise LogInError(_("the sign-in was interrupted. Begin again"))
        if given.get("iss", self.settings.issuer) != self.settings.issuer:
            raise LogInError(_("the sign-in was interrupted. Begin again"))
        client = self._connect()
        token = client.fetch_access_token(
            self._callback, code=given["code"], code_verifier=flow["code_verifier"]
        )
        client.fetch_jwk_set(force=True)  # the provider may have changed its keys
        required = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": self.settings.client_id},
        }
        claims = client.parse_id_token(token, flow["nonce"], required, leeway=LEEWAY_SECONDS)
        subject, name = claims["sub"], claims.get(self.settings.name_claim)
        if not (isinstance(subject, str) and 0 < len(subject) <= 255 and isinstance(name, str)):
            raise LogInError(
                _("the provider does not state your name ({name_claim})", name_claim=self.settings.name_claim)
            )
        return Identity(self.settings.issuer, subject, name, self._find_role(claims))

    def _find_role(self, claims: Mapping[str, Any]) -> UserRole | None:
        way = self.settings.role_claim
        found: Any = claims
        for name in (way,) if isinstance(way, str) else way:
            found = found.get(name) if isinstance(found, Mapping) else None
        stated = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        return next((role for name, role in self.settings.roles.items() if name in stated), None)

    def make_log_out_address(self) -> str | None:
        """Return the address where a browser logs out of the provider, None = not known."""
        try:
            client = self._connect()
            back = self.settings.address.rstrip("/") + "/log-in"
            made = client.create_logout_url(back, client_id=self.settings.client_id)
        except _FOREIGN:
            return None
        return str(made["url"])


def open_provider(path: Path) -> Provider:
    """Read the settings of a provider; it is asked only when somebody signs in.

    Raises:
        ConfigurationError: The file cannot be used, or others can read the secret of the client.
        UnreadableInputError: The file with the secret cannot be read.
    """
    return Provider(read_settings(path, ProviderSettings))


def _flow_cookie(request: Request) -> str:
    return "__Host-sign-in" if request.app.state.is_secure else "sign-in"


async def begin_sign_in(request: Request) -> Response:
    return await guard(_begin)(request)


def _begin(request: Request, _ignored: bytes) -> Response:
    state = request.app.state
    try:
        address, flow = state.provider.begin()
    except _FOREIGN as error:
        LOG.error("%s", describe_error(error))
        return render_log_in(request, _("The sign-in cannot be reached. Try again later."), status=503)
    flow |= {"at": state.store.now(), "old": request.cookies.get(state.cookie, "")}
    sealed = base64.urlsafe_b64encode(state.store.sealer.seal(json.dumps(flow).encode(), "sign-in")).decode()
    response = RedirectResponse(address, status_code=303)
    # The provider is another site, so its redirect must bring the cookie with it.
    options: dict[str, Any] = {"httponly": True, "samesite": "lax", "secure": state.is_secure}
    response.set_cookie(_flow_cookie(request), sealed, 60 * FLOW_MINUTES, **options)
    return response


async def finish_sign_in(request: Request) -> Response:
    """Begin a session for the person that the provider names."""
    return await guard(_finish)(request)


def _finish(request: Request, _ignored: bytes) -> Response:
    store: ReviewStore = request.app.state.store
    address = find_address(request)
    problem = _("the sign-in failed. Begin again, or ask your administrator.")
    try:
        flow = _open_flow(store, request.cookies.get(_flow_cookie(request), ""))
        identity = request.app.state.provider.finish(flow, request.query_params)
    except (LogInError, *_FOREIGN) as error:
        if isinstance(error, LogInError):
            problem = str(error)
        else:
            LOG.warning("%s", describe_error(error))
        with store.writing() as transaction:
            record_failure(transaction, None, "log-in failed at the provider", address)
        response: Response = render_log_in(request, make_sentence(problem), status=401)
    else:
        try:
            client = Client(address, find_browser(request) or make_browser())
            session = sign_in(store, identity, client=client, old_session_id=flow["old"])
        except LogInError as error:
            response = render_log_in(request, make_sentence(str(error)), status=403)
        else:
            # A redirect would still belong to the other site, and the browser would not send the cookie.
            response = render_page(request, "signed_in.html", None)
            set_cookie(request, response, request.app.state.cookie, session.id)
            remember_browser(request, response, client.browser)
    response.delete_cookie(
        _flow_cookie(request), secure=request.app.state.is_secure, httponly=True, samesite="lax"
    )
    return response


def _open_flow(store: ReviewStore, sealed: str) -> dict[str, str]:
    try:
        flow = json.loads(store.sealer.open(base64.urlsafe_b64decode(sealed), "sign-in"))
        is_open = 0 <= store.now() - flow.pop("at") <= 60.0 * FLOW_MINUTES
    except (ValueError, UnreadableInputError):
        is_open = False
    if not is_open:
        raise LogInError(_("the sign-in took too long. Begin again"))
    return dict(flow)


async def show_signed_out(request: Request) -> Response:
    """Return the page after a log-out here, with the way to log out of the provider."""
    return await guard(_show_signed_out)(request)


def _show_signed_out(request: Request, _: bytes) -> Response:
    provider: Provider = request.app.state.provider
    address = provider.make_log_out_address()
    return render_page(request, "signed_out.html", None, address=address, provider=provider.title)
