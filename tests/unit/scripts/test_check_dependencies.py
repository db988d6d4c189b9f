"""Locked versions that were withdrawn or have a known flaw are refused."""

import importlib.util
import sys
import urllib.error
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "check_dependencies", ROOT / "scripts/check_dependencies.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_dependencies"] = module
    spec.loader.exec_module(module)
    return module


def page(*files):
    return {"files": [{"filename": name, "yanked": yanked} for name, yanked in files]}


def test_pins_of_several_files_are_joined(script, tmp_path):
    (tmp_path / "a.txt").write_text(
        "Some-Lib==1.2 \\\n    --hash=sha256:00\nother==3 ; sys_platform == 'x'\n"
    )
    (tmp_path / "b.txt").write_text("some-lib==1.3\n")
    pins = script.read_pins(sorted(tmp_path.iterdir()))
    assert pins == {"some-lib": {"1.2", "1.3"}, "other": {"3"}}


def test_a_version_with_a_flaw_is_found(script):
    flaws = [{"package": "lib", "versions": "<2", "advisory": "CVE-0", "what": "leaks"}]
    assert list(script.list_flaws({"lib": {"1.9"}}, flaws)) == ["lib 1.9: CVE-0, leaks"]
    assert list(script.list_flaws({"lib": {"2.0"}}, flaws)) == []


def test_a_withdrawn_or_missing_version_is_found(script):
    pages = {
        "lib": page(
            ("lib-1.0-py3-none-any.whl", "broken"),
            ("lib-1.0.tar.gz", True),
            ("lib-2.0.tar.gz", False),
            ("lib-2.0-py3-none-any.whl", "only this one"),
        )
    }
    assert list(script.list_yanked({"lib": {"1.0"}}, pages)) == ["lib 1.0: withdrawn from the index"]
    assert list(script.list_yanked({"lib": {"2.0"}}, pages)) == []
    assert list(script.list_yanked({"lib": {"3"}}, pages)) == ["lib 3: the index has no file of it"]


@pytest.fixture
def lock(script, monkeypatch, tmp_path):
    """A lock file of invented packages; the index knows them, and the list has a flaw of one."""
    flaw = '[[flaw]]\npackage = "Bad.Lib"\nversions = "<2"\nadvisory = "CVE-0"\nwhat = "leaks"\n'
    (tmp_path / "known_flaws.toml").write_text(flaw)
    pages = {
        "good": page(("good-1.0.tar.gz", False)),
        "bad-lib": page(("bad_lib-1.0.tar.gz", False), ("bad_lib-2.0.tar.gz", False)),
        "gone": page(("gone-1.0.tar.gz", "it deletes files")),
    }
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "ask_index", pages.__getitem__)

    def run(*pins):
        (tmp_path / "lock.txt").write_text("\n".join(pins))
        return script.main([str(tmp_path / "lock.txt")])

    return run


@pytest.mark.parametrize(
    ("pin", "status"), [("good==1.0", 0), ("bad_lib==1.0", 1), ("bad_lib==2.0", 0), ("gone==1.0", 1)]
)
def test_a_flaw_or_a_withdrawn_version_makes_the_step_fail(lock, capsys, pin, status):
    assert lock("good==1.0", pin) == status
    assert f"{status} to replace" in capsys.readouterr().out


@pytest.mark.parametrize(("pin", "status"), [("bad_lib==1.0", 1), ("good==1.0", 2)])
def test_a_known_flaw_fails_also_where_the_index_cannot_be_asked(script, lock, monkeypatch, pin, status):
    def fail(_):
        raise urllib.error.URLError("offline")

    monkeypatch.setattr(script, "ask_index", fail)
    assert lock(pin) == status


def test_no_locked_version_has_a_flaw_of_the_list(script):
    pins = script.read_pins((ROOT / "scripts/requirements").glob("*.txt"))
    flaws = script.read_flaws(ROOT / "scripts/known_flaws.toml")
    assert len(pins) > 50
    assert list(script.list_flaws(pins, flaws)) == []
    assert any(flaw["package"] in pins for flaw in flaws)
