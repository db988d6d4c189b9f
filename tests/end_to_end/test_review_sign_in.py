"""Sign-in at a real OpenID provider (oidc-provider-mock), whose tokens the tests spoil."""

import base64
import hashlib
import json
import re
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from proxies import nginx
from review_servers import certificate, free_port, serving
from review_stores import KEY, store_of
from review_visitors import Visitor, account
from served_apps import served_app
from sqlalchemy import select
from starlette.responses import JSONResponse, RedirectResponse
from test_deployment import DEPLOY
from test_review_browser import serious_faults

from inverse_deid.core.errors import ConfigurationError, ReviewError
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.pages.sign_in import open_provider
from inverse_deid.review.people.accounts import find_user, link_account, list_users, set_active
from inverse_deid.review.store.tables import TRAIL, USERS
from inverse_deid.review.store.values import UserRole

mock = pytest.importorskip("oidc_provider_mock", reason="no oidc-provider-mock")

ADDRESS = "https://review.example.org"
ROLES = '[roles]\n"review-admins" = "admin"\n"review-readers" = "reviewer"\n'


# The provider uses older names of authlib.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def fresh(claims):
    return claims


def decode(part):
    return json.loads(base64.urlsafe_b64decode(part + "=="))


@pytest.fixture(scope="module")
def provider():
    """Run a provider; `spoil` changes the claims of its tokens, `key` signs them in its place."""
    from authlib.jose import RSAKey as OldKey
    from oidc_provider_mock import _app

    made = SimpleNamespace(spoil=fresh, key=None, turns_key=False, seen={})
    encode = _app.OpenIDCode.encode_id_token

    def encode_changed(self, token, request):
        if made.turns_key:
            new = RSAKey.generate_key(2048).as_dict(private=True)
            _app.storage.jwk = OldKey.import_key(new)
        header, payload, _ = encode(self, token, request).split(".")
        made.seen = dict(request.payload.data)
        key = RSAKey.import_key(made.key or _app.storage.jwk.as_dict(is_private=True))
        return jwt.encode({"alg": decode(header)["alg"]}, made.spoil(decode(payload)), key)

    with pytest.MonkeyPatch.context() as patch, mock.run_server_in_thread() as server:
        patch.setattr(_app.OpenIDCode, "encode_id_token", encode_changed)
        made.issuer = f"http://localhost:{server.server_port}"
        yield made


@pytest.fixture(autouse=True)
def honest(provider):
    yield
    provider.spoil, provider.key, provider.turns_key = fresh, None, False


def settings_file(folder, provider, more=""):
    secret = folder / "secret"
    secret.write_text("the secret of the client\n")
    secret.chmod(0o600)
    file = folder / "provider.toml"
    file.write_text(
        f'issuer = "{provider.issuer}"\nclient_id = "review"\nclient_secret_file = "secret"\n'
        f'address = "{ADDRESS}"\nrole_claim = ["access", "roles"]\n{more}{ROLES}'
    )
    return file


@pytest.fixture(scope="module")
def house(provider, tmp_path_factory):
    folder = tmp_path_factory.mktemp("house")
    with store_of(folder, clock=time.time) as store:
        application = make_application(store, door=open_provider(settings_file(folder, provider)))
        with served_app(application) as address:
            yield store, address


@pytest.fixture
def store(house):
    return house[0]


@pytest.fixture
def browser(house):
    return Visitor(house[0], address=house[1])


def known(provider, subject, roles, name=None):
    claims = {"preferred_username": name or subject, "access": {"roles": roles}}
    httpx.put(f"{provider.issuer}/users/{subject}", json=claims).raise_for_status()


def go_to_provider(browser, subject):
    """Begin, and let somebody confirm at the provider; return the way back."""
    begun = browser.get("/sign-in")
    assert begun.status_code == 303
    back = httpx.post(begun.headers["location"], data={"sub": subject})
    return begun, back.headers["location"].removeprefix(ADDRESS)


def sign_in(browser, subject):
    return browser.get(go_to_provider(browser, subject)[1])


def entries(store):
    with store.reading() as transaction:
        lines = transaction.execute(select(TRAIL.c.line).order_by(TRAIL.c.number)).scalars().all()
    return [(one["user"], one["event"], one["old"], one["new"]) for one in map(json.loads, lines)]


def test_the_first_sign_in_makes_an_account(provider, store, browser):
    known(provider, "s-ann", ["review-readers", "others"], "Ann")
    assert 'href="/sign-in"' in browser.get("/log-in").text
    begun, back = go_to_provider(browser, "s-ann")
    asked = {name: value[0] for name, value in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    assert (asked["response_type"], asked["redirect_uri"]) == ("code", ADDRESS + "/signed-in")
    assert asked["code_challenge_method"] == "S256" and asked["state"] and asked["nonce"]
    assert "SameSite=lax" in begun.headers["set-cookie"]
    page = browser.get(back)
    assert page.status_code == 200 and "SameSite=strict" in page.headers["set-cookie"]
    verifier = hashlib.sha256(provider.seen["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(verifier).decode().rstrip("=") == asked["code_challenge"]
    assert browser.get("/").status_code == 200
    ann = find_user(store, "ann")
    assert (ann.role, ann.issuer) == (UserRole.REVIEWER, provider.issuer)
    assert ("provider", "account of ann added", None, "reviewer") in entries(store)


def test_the_redirect_does_not_follow_the_host_of_the_request(house):
    answer = httpx.get(house[1] + "/sign-in", headers={"Host": "evil.example.org"})
    assert "evil" not in answer.headers["location"]


def test_the_role_is_that_of_the_last_sign_in(provider, store, browser, house):
    known(provider, "s-ben", ["review-readers"], "ben")
    sign_in(browser, "s-ben")
    known(provider, "s-ben", ["review-readers", "review-admins"], "ben")
    again = Visitor(store, address=house[1])
    sign_in(again, "s-ben")
    assert find_user(store, "ben").role is UserRole.ADMIN
    assert ("provider", "role of ben changed", "reviewer", "admin") in entries(store)
    assert browser.get("/").headers["location"] == "/log-in"
    assert again.get("/accounts").status_code == 200


def test_the_provider_can_take_the_last_admin_away_and_bring_one_back(provider, store, browser, house):
    known(provider, "s-ada", ["review-admins"], "ada")
    sign_in(browser, "s-ada")
    others = [one.name for one in list_users(store) if one.role is UserRole.ADMIN and one.name != "ada"]
    for name in others:
        set_active(store, name, is_active=False)
    with pytest.raises(ReviewError, match="ada is the only open admin account"):
        set_active(store, "ada", is_active=False)
    known(provider, "s-ada", ["review-readers"], "ada")
    demoted = Visitor(store, address=house[1])
    sign_in(demoted, "s-ada")
    assert demoted.get("/accounts").status_code == 403
    known(provider, "s-ada", ["review-admins"], "ada")
    sign_in(demoted, "s-ada")
    assert demoted.get("/accounts").status_code == 200
    for name in others:
        set_active(store, name, is_active=True)


@pytest.mark.parametrize("roles", [[], ["others"], {"review-admins": True}, None])
def test_without_a_mapped_role_there_is_no_access(provider, store, browser, roles):
    known(provider, "s-carl", roles, "carl")
    answer = sign_in(browser, "s-carl")
    assert answer.status_code == 403 and "no role" in answer.text
    with store.reading() as transaction:
        assert not transaction.execute(select(USERS).where(USERS.c.name == "carl")).all()
    assert browser.get("/").headers["location"] == "/log-in"


def test_who_loses_the_role_is_logged_out(provider, store, browser, house):
    known(provider, "s-dan", ["review-readers"], "dan")
    sign_in(browser, "s-dan")
    known(provider, "s-dan", [], "dan")
    assert sign_in(Visitor(store, address=house[1]), "s-dan").status_code == 403
    assert browser.get("/").headers["location"] == "/log-in"
    assert any(one[:2] == ("dan", "log-in refused") for one in entries(store))


def test_a_closed_account_stays_closed(provider, store, browser):
    known(provider, "s-eva", ["review-readers"], "eva")
    sign_in(browser, "s-eva")
    set_active(store, "eva", is_active=False)
    assert "closed" in sign_in(browser, "s-eva").text
    assert browser.get("/").headers["location"] == "/log-in"


def test_a_name_gives_nobody_the_account_of_another(provider, store, browser):
    account(store, "fay", UserRole.ADMIN)
    known(provider, "s-thief", ["review-admins"], "Fay")
    answer = sign_in(browser, "s-thief")
    assert answer.status_code == 403 and "belongs to another account" in answer.text
    link_account(store, "fay", provider.issuer, "s-thief")
    assert sign_in(browser, "s-thief").status_code == 200
    assert Visitor(store, address=str(browser.client.base_url)).log_in("fay").status_code == 401


SPOILED = {
    "issuer": lambda claims: claims | {"iss": "https://elsewhere.example.org"},
    "audience": lambda claims: claims | {"aud": ["another-client"]},
    "audience of another client": lambda claims: claims | {"aud": "another-client", "azp": "review"},
    "party": lambda claims: claims | {"aud": ["review", "another-client"], "azp": "another-client"},
    "no party": lambda claims: claims | {"aud": ["review", "another-client"]},
    "another party": lambda claims: claims | {"azp": "another-client"},
    "future": lambda claims: claims | {"iat": int(time.time()) + 900},
    "nonce": lambda claims: claims | {"nonce": "another"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "expired": lambda claims: claims | {"exp": int(time.time()) - 120},
    "no expiry": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "no subject": lambda claims: {name: value for name, value in claims.items() if name != "sub"},
    "no name": lambda claims: claims | {"preferred_username": None},
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_spoiled_token_is_refused(provider, store, browser, kind):
    known(provider, "s-gus", ["review-admins"], "gus")
    provider.spoil = SPOILED[kind]
    assert sign_in(browser, "s-gus").status_code == 401
    assert browser.get("/").headers["location"] == "/log-in"
    assert any(one[:2] == ("unknown", "log-in failed at the provider") for one in entries(store))


def test_a_token_signed_by_another_key_is_refused(provider, browser):
    known(provider, "s-gus", ["review-admins"], "gus")
    provider.key = RSAKey.generate_key(2048).as_dict(private=True)
    assert sign_in(browser, "s-gus").status_code == 401


def test_a_new_key_of_the_provider_is_accepted(provider, browser):
    known(provider, "s-hal", ["review-readers"], "hal")
    sign_in(browser, "s-hal")
    provider.turns_key = True
    assert sign_in(browser, "s-hal").status_code == 200


def test_a_state_of_another_browser_is_refused(provider, store, browser, house):
    known(provider, "s-ian", ["review-readers"], "ian")
    _, theirs = go_to_provider(Visitor(store, address=house[1]), "s-ian")
    assert browser.get(theirs).status_code == 401
    go_to_provider(browser, "s-ian")
    assert browser.get(theirs).status_code == 401
    assert browser.get("/").headers["location"] == "/log-in"


def test_a_way_back_is_used_once(provider, browser):
    known(provider, "s-joe", ["review-readers"], "joe")
    _, back = go_to_provider(browser, "s-joe")
    assert browser.get(back).status_code == 200
    assert browser.get(back).status_code == 401


def test_a_refusal_at_the_provider_is_reported(provider, browser):
    begun = browser.get("/sign-in").headers["location"]
    back = httpx.post(begun, data={"action": "deny"}).headers["location"]
    assert "error=access_denied" in back
    answer = browser.get(back.removeprefix(ADDRESS))
    assert answer.status_code == 401 and "interrupted" in answer.text


def test_a_log_out_leads_to_that_of_the_provider(provider, browser):
    known(provider, "s-kim", ["review-readers"], "kim")
    sign_in(browser, "s-kim")
    browser.token = browser.token_of("/")
    assert browser.send("/log-out").headers["location"] == "/signed-out"
    page = browser.get("/signed-out").text
    assert f'href="{provider.issuer}/oauth2/end_session?' in page
    assert "post_logout_redirect_uri=https%3A%2F%2Freview.example.org%2Flog-in" in page
    assert browser.get("/").headers["location"] == "/log-in"


def test_local_accounts_can_be_turned_off(provider, tmp_path):
    file = settings_file(tmp_path, provider, "local_accounts = false\n")
    with store_of(tmp_path, clock=time.time) as store:
        account(store, "dora", UserRole.ADMIN)
        with served_app(make_application(store)) as address:
            before = Visitor(store, address=address)
            before.log_in("dora")
        with served_app(make_application(store, door=open_provider(file))) as address:
            after = Visitor(store, address=address)
            after.client.cookies = before.client.cookies
            assert after.get("/").headers["location"] == "/log-in"
            assert 'name="password"' not in after.get("/log-in").text
            assert after.log_in("dora").status_code == 403


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"https://review', '"http://review', "address: must begin with https"),
        (ROLES, "[roles]\n", "no role"),
        ('"admin"', '"emperor"', "emperor"),
        ('client_id = "review"\n', "", "client_id"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(provider, tmp_path, old, new, said):
    file = settings_file(tmp_path, provider)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ConfigurationError, match=said):
        open_provider(file)


def test_a_secret_that_others_can_read_is_refused(provider, tmp_path):
    file = settings_file(tmp_path, provider)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        open_provider(file)


def test_a_provider_that_does_not_answer(provider, tmp_path):
    file = settings_file(tmp_path, SimpleNamespace(issuer=f"http://localhost:{free_port()}"))
    with (
        store_of(tmp_path) as store,
        served_app(make_application(store, door=open_provider(file))) as address,
    ):
        answer = httpx.get(address + "/sign-in")
    assert answer.status_code == 503 and "cannot be reached" in answer.text


def test_a_provider_that_keeps_everybody_waiting_does_not_stop_the_review(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(60) as visitors:
        file = settings_file(tmp_path, SimpleNamespace(issuer=f"http://127.0.0.1:{silent.getsockname()[1]}"))
        with (
            store_of(tmp_path) as store,
            served_app(make_application(store, door=open_provider(file))) as address,
        ):
            certificates = ssl.create_default_context()  # to load them takes longer than to ask
            get = partial(httpx.get, timeout=120, verify=certificates)
            waiting = [visitors.submit(get, address + "/sign-in") for _ in range(60)]
            time.sleep(1)
            try:
                assert get(address + "/health", timeout=8).status_code == 200
            finally:
                silent.close()
            assert {one.result().status_code for one in waiting} == {429, 503}


def test_redirects_of_the_provider_are_not_followed(tmp_path):
    async def provider(scope, receive, send):
        issuer = f"http://127.0.0.1:{scope['server'][1]}"
        known = {"issuer": issuer, "authorization_endpoint": issuer, "token_endpoint": issuer}
        is_elsewhere = scope["path"] == "/elsewhere"
        await (JSONResponse(known) if is_elsewhere else RedirectResponse("/elsewhere"))(scope, receive, send)

    with store_of(tmp_path) as store, served_app(provider) as issuer:
        asked = open_provider(settings_file(tmp_path, SimpleNamespace(issuer=issuer)))
        with served_app(make_application(store, door=asked)) as address:
            assert httpx.get(address + "/sign-in").status_code == 503


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_signs_in_behind_nginx(provider, tmp_path, chromium):
    """The provider is another site, and the pages have the strict policy."""
    known(provider, "s-lea", ["review-readers"], "lea")
    with store_of(tmp_path, clock=time.time) as store:
        account(store, "dora", UserRole.ADMIN)
    key = tmp_path / "review.db.key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    chain, private = certificate(tmp_path)
    tls, plain = free_port(), free_port()
    file = settings_file(tmp_path, provider)
    file.write_text(file.read_text().replace(ADDRESS, f"https://127.0.0.1:{tls}"))
    with serving(tmp_path / "review.db", "--behind-proxy", "127.0.0.1", "--oidc", file) as port:
        changes = {
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen [::]:80;": "",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{tls} ssl http2;",
            "listen [::]:443 ssl http2;": "",
            "/etc/ssl/inverse-deid/chain.pem": str(chain),
            "/etc/ssl/inverse-deid/key.pem": str(private),
            "http://127.0.0.1:8017": f"http://127.0.0.1:{port}",
        }
        with nginx(DEPLOY / "review.nginx", changes, tmp_path / "nginx", port=tls):
            page = chromium.new_context(ignore_https_errors=True).new_page()
            page.goto(f"https://127.0.0.1:{tls}/")
            assert serious_faults(page) == []
            page.get_by_role("link", name="Sign in with your organisation").click()
            page.wait_for_url(re.compile("^" + re.escape(provider.issuer)))
            page.fill("[name=sub]", "s-lea")
            page.get_by_role("button", name="Authorize", exact=True).click()
            page.wait_for_url(f"https://127.0.0.1:{tls}/")
            assert page.locator(".me").inner_text().startswith("lea")
            page.get_by_role("button", name="Log out").click()
            page.get_by_role("heading", name="You are logged out here").wait_for()
            assert serious_faults(page) == []
            page.get_by_role("link", name="Log out there as well").click()
            page.wait_for_url(re.compile("^" + re.escape(provider.issuer)))
