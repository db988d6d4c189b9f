import logging
import os

import pytest
from click.testing import CliRunner
from fake_maskers import CANARY

from inverse_deid.cli.parts.server_options import read_metrics_token
from inverse_deid.cli.serve import read_clients, serve
from inverse_deid.core.errors import ConfigurationError, InverseDeidError
from inverse_deid.service.clients import Clients
from inverse_deid.service.settings import ServiceSettings, check_address, is_loopback
from inverse_deid.web.server import strip_exception

SECRET = "not-a-secret-0123456789"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.7", False),
        ("::ffff:10.0.0.7", False),
    ],
)
def test_loopback(host, expected):
    assert is_loopback(host) is expected


def test_a_host_that_does_not_exist():
    with pytest.raises(ConfigurationError, match="not an address"):
        is_loopback("no host has blanks")


def test_without_a_token_only_this_machine_may_ask():
    check_address("127.0.0.1", None)
    check_address("0.0.0.0", Clients.of_token(SECRET))
    with pytest.raises(ConfigurationError, match="without a token"):
        check_address("0.0.0.0", None)
    with pytest.raises(ConfigurationError, match="without a token"):
        check_address("127.0.0.1", None, proxy="127.0.0.1")


@pytest.mark.parametrize(
    "secret", ["", "short", "fifteen-chars-x", "has a blank in it!", "not-ascii-é-0123456"]
)
def test_weak_tokens_are_refused_without_an_echo(secret):
    with pytest.raises(ConfigurationError) as caught:
        Clients.of_token(secret)
    assert not secret or secret not in str(caught.value)


def test_a_token_is_shown_nowhere():
    assert SECRET not in repr(ServiceSettings(clients=Clients.of_token(SECRET)))
    assert "digest" not in repr(Clients.of_token(SECRET))


def private(path, content):
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def test_the_token_of_a_file_or_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("INVERSE_DEID_TOKEN", raising=False)
    assert read_clients(None, None) is None
    file = private(tmp_path / "token", f"{SECRET}\n".encode())
    assert read_clients(file, None).find(SECRET)
    monkeypatch.setenv("INVERSE_DEID_TOKEN", SECRET)
    assert read_clients(None, None).find(SECRET)
    with pytest.raises(ConfigurationError, match="both given"):
        read_clients(file, None)
    with pytest.raises(ConfigurationError, match="both given"):
        read_clients(None, file)


@pytest.mark.parametrize("content", [None, b"", b"x" * 5000])
def test_a_token_file_that_cannot_be_used(tmp_path, monkeypatch, content):
    monkeypatch.delenv("INVERSE_DEID_TOKEN", raising=False)
    file = tmp_path / "token"
    if content is not None:
        private(file, content)
    with pytest.raises(InverseDeidError):
        read_clients(file, None)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_token_file_that_others_can_read_is_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.delenv("INVERSE_DEID_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text(SECRET)
    file.chmod(0o640)
    for given in ((file, None), (None, file)):
        with pytest.raises(ConfigurationError, match="chmod 600"):
            read_clients(*given)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        read_metrics_token(file)


def test_the_command_does_not_start_on_an_open_address_without_a_token(monkeypatch):
    monkeypatch.delenv("INVERSE_DEID_TOKEN", raising=False)
    found = CliRunner().invoke(serve, ["--host", "0.0.0.0"])
    assert isinstance(found.exception, ConfigurationError)


@pytest.mark.parametrize("limits", [{"max_body_bytes": 0}, {"max_documents": 0}, {"seconds": 0}])
def test_limits_of_nothing_are_refused(limits):
    with pytest.raises(ConfigurationError):
        ServiceSettings(**limits)


def test_an_exception_in_the_log_loses_its_text():
    error = KeyError(CANARY)
    record = logging.LogRecord("x", 40, "f", 1, "in %s", ("app",), (KeyError, error, None))
    assert strip_exception(record)
    shown = logging.Formatter().format(record)
    assert (shown, CANARY in shown) == ("in app (KeyError)", False)
