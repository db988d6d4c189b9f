"""The desk: where it is, its one-time addresses, its lock."""

import json
import os
import sys

import pytest
from desk_visitors import desk_of
from platformdirs import windows
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows
from review_stores import KEY

from inverse_deid import desk
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.desk import USUAL_PORT, ask_running_desk, bind, find_place, hold_folder, open_key
from inverse_deid.review.pages.door import MAX_TOKENS, OPENING, TOKEN_MINUTES, Place, open_answer, prove


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folders of Linux")
@pytest.mark.parametrize(
    ("environment", "folder", "key_folder"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.local/share/inverse-deid/desk", "/home/ann/.config/inverse-deid"),
        ({"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "/d/inverse-deid/desk", "/c/inverse-deid"),
    ],
)
def test_data_and_key_are_in_two_folders_of_the_user(monkeypatch, environment, folder, key_folder):
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    place = find_place(None)
    assert (place.folder.as_posix(), place.key_file.parent.as_posix()) == (folder, key_folder)


@pytest.mark.parametrize("system", [Unix, MacOS, Windows])
def test_the_key_is_beside_the_folder_on_every_system(monkeypatch, system):
    monkeypatch.setattr(desk, "PlatformDirs", system)
    monkeypatch.setattr(
        windows, "get_win_folder", lambda name: {"CSIDL_APPDATA": "/u/roaming"}.get(name, "/u/local")
    )
    place = find_place(None)
    assert place.folder not in place.key_file.parents
    assert place.folder.parent != place.key_file.parent


def test_each_folder_has_its_own_key(tmp_path):
    first, second = (find_place(tmp_path / name).key_file for name in "ab")
    assert first != second
    assert first == find_place(tmp_path / "a").key_file


def test_a_new_key_is_for_its_owner_alone_and_is_found_again(tmp_path):
    place = Place(tmp_path / "desk", tmp_path / "keys" / "desk.key")
    key = open_key(place)
    assert open_key(place) == key
    if os.name == "posix":
        assert place.key_file.stat().st_mode & 0o777 == 0o600
        assert place.folder.stat().st_mode & 0o777 == 0o700


def test_a_desk_without_its_key_is_never_given_a_new_one(tmp_path):
    place = Place(tmp_path, tmp_path / "keys" / "desk.key")
    (tmp_path / "desk.db").write_bytes(b"")
    with pytest.raises(ConfigurationError, match=r"desk\.key is missing"):
        open_key(place)


def test_an_address_works_once(tmp_path):
    with desk_of(tmp_path, starts=False) as visitor:
        address = visitor.door.make_address()
        visitor.client.cookies.clear()
        first = visitor.client.get(address)
        assert (first.status_code, first.headers["refresh"]) == (200, "0; url=/add")
        assert "samesite=strict" in first.headers["set-cookie"].lower()
        assert "httponly" in first.headers["set-cookie"].lower()
        assert visitor.client.get("/add").status_code == 200
        visitor.client.cookies.clear()
        second = visitor.client.get(address)
        assert second.status_code == 403
        assert "set-cookie" not in second.headers
        assert "press Enter" in second.text
        assert visitor.client.get("/add").headers["location"] == "/log-in"
        assert "press Enter" in visitor.client.get("/log-in").text


def test_old_and_too_many_addresses_are_closed(tmp_path, monkeypatch):
    with desk_of(tmp_path, starts=False) as visitor:
        door, store = visitor.door, visitor.store
        oldest, *others = (door.make_address().rpartition("/")[2] for _ in range(MAX_TOKENS + 1))
        assert not door.use(oldest)
        assert door.use(others[0])
        now = store.now()
        monkeypatch.setattr(store, "now", lambda: now + 60 * TOKEN_MINUTES + 1)
        assert not door.use(others[1])
        assert not door.use("")


def test_a_browser_that_loads_ahead_does_not_use_the_address_up(tmp_path):
    with desk_of(tmp_path, starts=False) as visitor:
        address = visitor.door.make_address()
        assert visitor.client.get(address, headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 503
        assert visitor.client.get(address).status_code == 200


def test_no_password_opens_a_desk_and_other_host_names_are_refused(tmp_path):
    with desk_of(tmp_path, starts=False) as visitor:
        form = {"name": "you", "password": "none", "csrf_token": visitor.token}
        assert visitor.client.post("/log-in", data=form).status_code == 405
        assert visitor.client.get("/add", headers={"Host": "evil.example"}).status_code == 421


def test_another_start_gets_an_address_only_with_the_key(tmp_path):
    with desk_of(tmp_path, starts=False) as visitor:
        secret, nonce = KEY.derive("desk"), "0123456789abcdef" * 2
        answer = visitor.client.post("/again", content=f"{nonce} {prove(secret, nonce)}")
        address = open_answer(secret, nonce, answer.text)
        assert address.startswith("http://127.0.0.1:8018/open/")
        assert address not in answer.text
        assert visitor.client.get(address).status_code == 200
        assert open_answer(bytes(32), nonce, answer.text) is None
        assert open_answer(secret, "f" * 32, answer.text) is None
        wrong = prove(bytes(32), nonce)
        assert visitor.client.post("/again", content=f"{nonce} {wrong}").status_code == 403
        assert visitor.client.post("/again", content=b"\xff" * 9999).status_code == 403


def test_the_file_for_the_browser_is_private_and_goes_with_its_address(tmp_path):
    with desk_of(tmp_path, starts=False) as visitor:
        door, place = visitor.door, visitor.door.place
        used, address = door.make_address(), door.make_address()
        assert place.write_opening(address) == (tmp_path / OPENING).as_uri()
        if os.name == "posix":
            assert (tmp_path / OPENING).stat().st_mode & 0o777 == 0o600
        assert door.use(used.rpartition("/")[2])
        assert address in (tmp_path / OPENING).read_text()
        assert door.use(address.rpartition("/")[2])
        assert not (tmp_path / OPENING).exists()


def test_one_program_holds_a_folder(tmp_path):
    with hold_folder(tmp_path) as first, hold_folder(tmp_path) as second:
        assert (first, second) == (True, False)
    with hold_folder(tmp_path) as again:
        assert again


def test_a_desk_that_does_not_answer_is_none(tmp_path):
    place = Place(tmp_path, tmp_path / "key")
    assert ask_running_desk(place, KEY) is None
    with bind(None) as other:
        (tmp_path / "desk.running").write_text(json.dumps({"port": other.getsockname()[1]}))
        other.close()
        assert ask_running_desk(place, KEY) is None


def test_a_free_port_replaces_the_usual_one_and_a_taken_one_is_named(monkeypatch):
    with bind(None) as first:
        taken = first.getsockname()[1]
        monkeypatch.setattr(desk, "USUAL_PORT", taken)
        with bind(None) as second:
            assert second.getsockname()[1] != taken
        with pytest.raises(ConfigurationError, match=f"port {taken} is taken"):
            bind(taken)
    assert USUAL_PORT == 8018
