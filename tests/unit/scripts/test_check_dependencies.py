"""Locked versions that were withdrawn or have a known flaw are refused."""

import importlib.util
import json
import subprocess
import sys
import urllib.error
from datetime import date, timedelta
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
    """A lock file of invented packages; the index knows them, and the snapshot of today has a flaw of one."""
    flaw = '[[flaw]]\npackage = "Bad.Lib"\nversions = "<2"\nadvisory = "CVE-0"\nwhat = "leaks"\n'
    (tmp_path / "known_flaws.toml").write_text(f"# comment\n\ntaken = {script.today()}\n\n{flaw}")
    pages = {
        "good": page(("good-1.0.tar.gz", False)),
        "bad-lib": page(("bad_lib-1.0.tar.gz", False), ("bad_lib-2.0.tar.gz", False)),
        "gone": page(("gone-1.0.tar.gz", "it deletes files")),
    }
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "ask_index", pages.__getitem__)

    def run(*pins, options=()):
        (tmp_path / "lock.txt").write_text("\n".join(pins))
        return script.main([*options, str(tmp_path / "lock.txt")])

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
    _, flaws = script.read_flaws(ROOT / "scripts/known_flaws.toml")
    assert len(pins) > 50
    assert list(script.list_flaws(pins, flaws)) == []
    assert any(flaw["package"] in pins for flaw in flaws)


def make_old(script, tmp_path, days):
    file = tmp_path / "known_flaws.toml"
    file.write_text(file.read_text().replace(str(script.today()), str(script.today() - timedelta(days=days))))


@pytest.mark.parametrize(("days", "status"), [(90, 0), (91, 3)])
def test_an_old_snapshot_has_a_status_of_its_own(script, lock, tmp_path, capsys, days, status):
    make_old(script, tmp_path, days)
    assert lock("good==1.0") == status
    said = capsys.readouterr()
    assert f"{days} days old" in said.out
    assert ("newer flaws are not known" in said.err) is (status == 3)


def test_a_flaw_counts_for_more_than_the_age_of_the_snapshot(script, lock, tmp_path):
    make_old(script, tmp_path, 400)
    assert lock("bad_lib==1.0") == 1


def auditor(tmp_path, *answered, status=0):
    """An interpreter whose pip-audit answers with these packages."""
    file = tmp_path / "auditor"
    answer = json.dumps({"dependencies": answered})
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit {status}\n")
    file.chmod(0o755)
    return "--auditor", str(file)


VULN = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"], "description": "Reads files. More."}


def test_what_pip_audit_finds_is_refused_and_enters_a_snapshot_of_today(script, lock, tmp_path, capsys):
    make_old(script, tmp_path, 400)
    found = {"name": "good", "version": "1.0", "vulns": [VULN]}
    assert lock("good==1.0", options=auditor(tmp_path, found, status=1)) == 1
    assert "good ==1.0" not in capsys.readouterr().out
    taken, flaws = script.read_flaws(tmp_path / "known_flaws.toml")
    assert taken == script.today() and (tmp_path / "known_flaws.toml").read_text().startswith("# comment\n")
    assert [(one["package"], one["versions"], one["advisory"], one["what"]) for one in flaws] == [
        ("Bad.Lib", "<2", "CVE-0", "leaks"),
        ("good", "==1.0", "CVE-1", "Reads files."),
    ]
    # The next run, without pip-audit, knows it, and a second answer adds nothing.
    assert lock("good==1.0") == 1
    assert lock("good==1.0", options=auditor(tmp_path, found, status=1)) == 1
    assert script.read_flaws(tmp_path / "known_flaws.toml")[1] == flaws


def test_a_clean_answer_renews_the_date(script, lock, tmp_path):
    make_old(script, tmp_path, 400)
    assert lock("good==1.0", options=auditor(tmp_path, {"name": "good", "version": "1.0", "vulns": []})) == 0
    assert script.read_flaws(tmp_path / "known_flaws.toml")[0] == script.today()


@pytest.mark.parametrize(
    "answered",
    [
        (),
        ({"name": "good", "skip_reason": "Dependency not found on PyPI"},),
        ({"name": "other", "version": "1.0", "vulns": []},),
    ],
)
def test_an_answer_that_leaves_a_version_out_is_not_one(script, lock, tmp_path, capsys, answered):
    make_old(script, tmp_path, 400)
    assert lock("good==1.0", options=auditor(tmp_path, *answered)) == 3
    assert "pip-audit did not answer for 1 of 1" in capsys.readouterr().err
    assert script.read_flaws(tmp_path / "known_flaws.toml")[0] == script.today() - timedelta(days=400)


def test_an_environment_without_pip_audit_does_not_answer(lock, tmp_path, script):
    make_old(script, tmp_path, 400)
    assert lock("good==1.0", options=("--auditor", str(tmp_path / "missing"))) == 3
    assert lock("good==1.0", options=("--auditor", sys.executable + "-not")) == 3


@pytest.mark.parametrize(("status", "fails"), [(0, False), (1, True), (2, False), (3, False)])
def test_ci_prints_the_status_and_fails_for_flaws_alone(status, fails, tmp_path):
    """The lines of .ci/run themselves, with a program that ends as the script can."""
    lines = (ROOT / ".ci/run").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if "check_dependencies.py" in line and "--auditor" in line)
    end = next(i for i in range(begin, len(lines)) if lines[i] == "}")
    step = "\n".join(lines[begin : end + 1]).replace(".venv/bin/python", f"bash -c 'exit {status}' --", 1)
    done = subprocess.run(["bash", "-euc", step], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode != 0) is fails
    assert (f"exit status {status}" in done.stdout) is (status > 0)


def test_the_snapshot_says_when_it_was_taken(script):
    taken, flaws = script.read_flaws(ROOT / "scripts/known_flaws.toml")
    assert date(2025, 1, 1) < taken <= script.today() and len(flaws) >= 18
