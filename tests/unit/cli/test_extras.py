"""A command whose extra is not installed says so, and how to install it from the user's own copy."""

import re
from pathlib import Path

import pytest
from bare_install import run_bare

from inverse_deid.core.extras import install_hint

ROOT = Path(__file__).parents[3]


def test_help_never_ends_in_an_unforeseen_error():
    found = run_bare()
    assert len(found) > 35
    for arguments, status, output in found:
        assert "unforeseen" not in output, arguments
        assert status == 0 or (arguments[0] == "review" and "pip install '.[review]'" in output), arguments


def test_every_command_names_its_extra(tmp_path):
    gold = tmp_path / "g.jsonl"
    gold.write_text('{"id": "a", "text": "Mr. Okonkwo had a rash.", "spans": []}\n')
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef" * 4)
    key.chmod(0o600)
    g, k, out, config = (str(path) for path in (gold, key, tmp_path / "out", tmp_path / "c.toml"))
    Path(config).write_text("")
    extras = {
        "review": [
            ["review", "init", g, "--store", out],
            ["review", "serve", "--store", out],
            ["review", "user", "list", "--store", out],
            ["review", "export", "--store", out, "--out", out],
            ["review", "import", g, "--store", out, "--user", "ann"],
            ["review", "verify", "--store", out],
            ["review", "sample", "--store", out],
            ["review", "summary", "--store", out],
        ],
        "serve": [["serve"]],
        "train": [
            ["train", "--gold", g, "--out", out],
            ["fine-tune", "--gold", g, "--out", out],
        ],
        "surrogates": [
            ["generate", "--out", f"{out}.jsonl", "--documents", "2"],
            ["mask", g, "--out", out, "--replace", "surrogate", "--key", k],
        ],
        "scale": [["mask", g, "--out", out, "--engine", "ray"]],
    }
    expected = {tuple(given): extra for extra, commands in extras.items() for given in commands}
    found = list(run_bare(*expected))
    assert len(found) == len(expected)
    for arguments, status, output in found:
        assert status == 2, (arguments, output)
        assert "unforeseen" not in output, (arguments, output)
        extra = expected[tuple(arguments)]
        assert f"in the folder of your copy of inverse-deid, run `pip install '.[{extra}]'`" in output, (
            arguments
        )


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("pyvenv.cfg", "pip install '.[desk]'"),
        ("pipx_metadata.json", "pipx install -f '.[desk]'"),
        ("uv-receipt.toml", "uv tool install '.[desk]'`, with the extras that you have"),
    ],
)
def test_the_hint_is_the_command_of_the_tool_that_installed_the_program(mark, command, tmp_path):
    (tmp_path / mark).touch()
    assert f"inverse-deid, run `{command}" in install_hint("desk", tmp_path)


def texts():
    for folder in ("inverse_deid", "research", "docs", "scripts", "tests", "reports", "examples", ".ci"):
        yield from (
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".md", ".toml", ".sh", ".html", ""}
            and path.name != "pyproject.toml"
            and not any(part.endswith((".egg-info", ".hypothesis")) for part in path.parts)
        )
    yield from ROOT.glob("*.md")


@pytest.mark.parametrize("pattern", [r"inverse-deid\[", r"pip install [\"']?inverse[-_]deid\b"])
def test_no_text_installs_the_project_from_an_index(pattern):
    """It is on none, and somebody else could register its name there."""
    here = Path(__file__)
    found = [
        str(path.relative_to(ROOT))
        for path in texts()
        if path.is_file() and path != here and re.search(pattern, path.read_text("utf-8", "replace"))
    ]
    assert found == []
