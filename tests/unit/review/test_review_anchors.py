"""The head of a trail outside the store: anchors, an earlier export, and a signature without any secret."""

import json
import socket
import sqlite3
import time

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from review_stores import KEY, Clock, store_of, user, write_key

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.review.store.anchors import anchoring, write_anchor
from inverse_deid.review.store.entries import TrailHead
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.tables import TRAIL_HEAD
from inverse_deid.review.store.trail import (
    export_trail,
    list_public_keys,
    read_anchors,
    verify_export,
    verify_store,
)


@pytest.fixture
def store(store, tmp_path):
    user(store, "ann")
    write_key(tmp_path)
    return store


def anchors_of(store, place):
    """Return the anchors of a file that are signed with a key of the store."""
    return read_anchors(place, list_public_keys(store)).anchors


def call(*words):
    return CliRunner().invoke(main, ["review", *map(str, words)])


def cut_back(tmp_path, earlier):
    """Cut the tail off with the head of an earlier copy, as an administrator of the database can."""
    raw = sqlite3.connect(tmp_path / "review.db")
    raw.execute("delete from trail where number > ?", (earlier.n_entries,))
    raw.execute("update trail_head set n_entries = ?, hash = ?, seal = ?", earlier[1:])
    raw.execute("delete from users where name = 'bea'")
    raw.commit()
    raw.close()


@pytest.mark.parametrize("kept", ["export", "anchor"])
def test_a_tail_cut_off_with_an_earlier_head_is_found(store, tmp_path, kept):
    with store.reading() as transaction:
        earlier = transaction.execute(TRAIL_HEAD.select()).one()
    user(store, "bea")
    place = tmp_path / "kept"
    export_trail(store, place) if kept == "export" else write_anchor(store, [str(place)])
    assert verify_store(store, anchors_of(store, place)).is_intact
    cut_back(tmp_path, earlier)
    assert verify_store(store).is_intact
    problem = "the trail ends at entry 2, but an earlier one has 3: its end was cut off"
    assert verify_store(store, anchors_of(store, place)).problems == (problem,)
    said = call("verify", "--store", tmp_path / "review.db", "--against", place)
    assert said.exit_code == 1 and problem in said.output
    user(store, "cem")
    assert (
        "entry 3 is not the one of the earlier trail"
        in verify_store(store, anchors_of(store, place)).problems
    )


def test_a_later_anchor_of_another_trail_does_not_hide_an_earlier_one(store, tmp_path):
    """The cut trail grew again until it had as many entries, and was anchored by the program itself."""
    with store.reading() as transaction:
        earlier = transaction.execute(TRAIL_HEAD.select()).one()
    user(store, "bea")
    place = tmp_path / "kept"
    write_anchor(store, [str(place)])
    cut_back(tmp_path, earlier)
    user(store, "cem")
    write_anchor(store, [str(place)])
    said = call("verify", "--store", tmp_path / "review.db", "--against", place)
    assert said.exit_code == 1 and "entry 3 is not the one of the earlier trail" in said.output


def test_anchors_are_appended_as_the_trail_grows_and_at_the_end(store, tmp_path):
    place = tmp_path / "anchors"
    with anchoring(store, [str(place)], every_entries=2, look_seconds=0.01):
        for name in ("bea", "cem"):
            user(store, name)
        until = time.monotonic() + 120
        while not (place.exists() and place.read_text()) and time.monotonic() < until:
            time.sleep(0.01)
        assert max(anchors_of(store, place)) == 4
        user(store, "dag")
    assert sorted(anchors_of(store, place)) == [4, 5]
    with anchoring(store, [str(place)]):
        pass
    assert len(place.read_text().splitlines()) == 2
    assert place.stat().st_mode & 0o777 == 0o600


def test_syslog_gets_the_anchor(store):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        write_anchor(store, [f"syslog:127.0.0.1:{receiver.getsockname()[1]}"])
        line = receiver.recv(65536).decode().rstrip("\0")
    assert json.loads(line[line.index("{") :])["anchor"]["n_entries"] == 2


@pytest.mark.parametrize(
    ("place", "fault"), [("syslog:nowhere", ConfigurationError), ("{}/no/a", OutputError)]
)
def test_a_place_that_cannot_be_written_is_an_error(store, tmp_path, place, fault):
    with pytest.raises(fault):
        write_anchor(store, [place.format(tmp_path)])


def test_commands_anchor_what_they_append(store, tmp_path):
    place = tmp_path / "anchors"
    given = ["--store", tmp_path / "review.db", "--anchor", place]
    assert call("user", "list", *given).exit_code == 0 and not place.exists()
    assert call("user", "close", "ann", *given).exit_code == 0
    assert list(anchors_of(store, place)) == [3]


def test_a_change_of_the_key_is_anchored(store, tmp_path):
    place, key = tmp_path / "anchors", tmp_path / "new.key"
    key.write_text("fedcba9876543210fedcba9876543210")
    key.chmod(0o600)
    given = ["--store", tmp_path / "review.db", "--anchor", place, "--new-key", key]
    store.close()
    said = call("rotate-key", *given)
    assert said.exit_code == 0, said.output
    said = call("verify", "--store", tmp_path / "review.db", "--key", key, "--against", place)
    assert said.exit_code == 0, said.output
    with open_store(tmp_path / "review.db", ReviewKey(key.read_bytes())) as again:
        assert min(anchors_of(again, place)) > 2


def test_an_anchor_of_before_a_change_of_the_key_still_counts(store, tmp_path):
    place, key = tmp_path / "anchors", tmp_path / "new.key"
    write_anchor(store, [str(place)])
    key.write_text("fedcba9876543210fedcba9876543210")
    key.chmod(0o600)
    store.close()
    assert call("rotate-key", "--store", tmp_path / "review.db", "--new-key", key).exit_code == 0
    given = ["--store", tmp_path / "review.db", "--key", key, "--against", place]
    assert call("verify", *given).exit_code == 0
    with open_store(tmp_path / "review.db", ReviewKey(key.read_bytes())) as again:
        assert min(anchors_of(again, place)) == 2


def forge(signer, **changes):
    """Return a line of anchors with another head, signed by somebody or not at all."""
    head = {"n_entries": 2, "hash": "0" * 64, "seal": "", "signature": ""} | changes
    if signer is not None:
        head["signature"] = signer.sign(TrailHead(**head).signed).hex()
    return json.dumps({"anchor": {"at": "2024-01-01T00:00:00+00:00", **head}}) + "\n"


@pytest.mark.parametrize("signer", [None, Ed25519PrivateKey.generate()], ids=["unsigned", "by another"])
@pytest.mark.parametrize("changes", [{}, {"n_entries": 500}], ids=["other hash", "later entry"])
def test_a_line_that_the_store_did_not_sign_is_named_and_counts_for_nothing(store, tmp_path, signer, changes):
    place = tmp_path / "anchors"
    write_anchor(store, [str(place)])
    with place.open("a") as stream:
        stream.write(forge(signer, **changes))
    said = call("verify", "--store", tmp_path / "review.db", "--against", place)
    assert said.exit_code == 1
    assert "line 2 of the anchors is not signed with a key of this store" in said.output + said.stderr
    assert "its end was cut off" not in said.output + said.stderr
    assert sorted(anchors_of(store, place)) == [2]


def test_an_anchor_that_was_changed_is_named(store, tmp_path):
    place = tmp_path / "anchors"
    write_anchor(store, [str(place)])
    place.write_text(place.read_text().replace('"n_entries": 2', '"n_entries": 1'))
    said = call("verify", "--store", tmp_path / "review.db", "--against", place)
    assert said.exit_code == 1
    assert "line 1 of the anchors is not signed" in said.output + said.stderr


def test_anchors_with_a_signing_key_of_their_own_need_its_public_key(store, tmp_path):
    private, public = Ed25519PrivateKey.generate(), tmp_path / "public.pem"
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(private.public_key().public_bytes(serialization.Encoding.PEM, form))
    place = tmp_path / "anchors"
    store.signer = private
    write_anchor(store, [str(place)])
    given = ["--store", tmp_path / "review.db", "--against", place]
    assert "give its public key" in call("verify", *given).stderr
    assert call("verify", *given, "--public-key", public).exit_code == 0


@pytest.mark.parametrize(
    "given",
    [
        ("--public-key", "public.pem", "--store", "review.db"),
        ("--public-key", "public.pem", "--trail", "trail.jsonl", "--store", "review.db"),
        ("--public-key", "public.pem", "--trail", "trail.jsonl", "--key", "review.db.key"),
    ],
)
def test_verify_refuses_what_it_would_not_look_at(store, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    said = call("verify", *given)
    assert said.exit_code != 0
    assert "--public-key" in said.output + said.stderr


def test_an_export_is_checked_by_the_public_key_alone(store, tmp_path):
    export, public = tmp_path / "trail.jsonl", tmp_path / "public.pem"
    export_trail(store, export)
    shown = call("public-key", "--store", tmp_path / "review.db")
    public.write_text(shown.output)
    (tmp_path / "review.db.key").unlink()
    assert call("verify", "--trail", export, "--public-key", public).output == "2 entries, intact\n"
    lines = export.read_text().splitlines()
    head = json.loads(lines[-1])["head"]
    forged = {"head": {**head, "n_entries": 1, "hash": json.loads(lines[0])["hash"]}}
    export.write_text(lines[0] + "\n" + json.dumps(forged) + "\n")
    said = call("verify", "--trail", export, "--public-key", public)
    assert said.exit_code == 1 and "the signature of the head is broken" in said.output


def test_a_signing_key_of_its_own_is_apart_from_the_key_of_the_store(store, tmp_path):
    private = Ed25519PrivateKey.generate()
    pem, raw = serialization.Encoding.PEM, serialization.NoEncryption()
    own = tmp_path / "signing.pem"
    own.write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, raw))
    own.chmod(0o600)
    export = tmp_path / "trail.jsonl"
    given = ["--store", tmp_path / "review.db", "--signing-key", own]
    assert call("export", *given, "--as", "trail", "--out", export).exit_code == 0
    assert verify_export(export, None, public_key=private.public_key()).is_intact
    assert not verify_export(export, None, public_key=store.signer.public_key()).is_intact
    own.write_text("no key")
    assert "is not an Ed25519 key" in call("public-key", *given).output


@pytest.mark.parametrize(
    "head", [{"n_entries": "x"}, {"n_entries": None}, {"n_entries": 1, "seal": 5}, {"n_entries": [1]}]
)
def test_a_malformed_head_is_a_problem_and_no_traceback(store, tmp_path, head):
    export = tmp_path / "trail.jsonl"
    export_trail(store, export)
    lines = export.read_text().splitlines()[:-1]
    export.write_text("\n".join([*lines, json.dumps({"head": head})]) + "\n")
    assert "the head cannot be read" in verify_export(export, KEY).problems
    said = call("verify", "--trail", export, "--store", tmp_path / "review.db")
    assert said.exit_code == 1 and "Traceback" not in said.output
    with pytest.raises(UnreadableInputError, match="has a line that cannot be read"):
        anchors_of(store, export)


def test_a_clock_that_was_put_back_is_noted(tmp_path):
    clock = Clock()
    with store_of(tmp_path, clock=clock) as store:
        clock.seconds -= 3600
        user(store, "ann")
        check = verify_store(store)
    assert check.is_intact and check.notes == ("the clock was put back before entry 2",)
