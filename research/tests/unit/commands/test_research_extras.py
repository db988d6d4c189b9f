"""A command of the research that lacks a package says so, and how to install it."""

from bare_install import run_bare


def test_every_command_names_its_extra(tmp_path):
    gold = tmp_path / "g.jsonl"
    gold.write_text('{"id": "a", "text": "Mr. Okonkwo had a rash.", "spans": []}\n')
    g, out, config = (str(path) for path in (gold, tmp_path / "out", tmp_path / "c.toml"))
    (tmp_path / "c.toml").write_text("")
    commands = [
        ["research", "share", "init", g, "--out", out],
        ["research", "share", "encode", g, "--out", out, "--representation", str(tmp_path / "r")],
        ["research", "share", "pool", g, "--out", out],
        ["research", "share", "train", g, "--out", out, "--representation", str(tmp_path / "r")],
        ["research", "share", "pseudonymise", g, "--out", out],
        ["research", "federated", "simulate", "--config", config, "--out", out],
        ["research", "federated", "server", "--config", config],
        ["research", "federated", "site", "--config", config],
        ["research", "extraction", "train", "--train", g, "--dev", g, "--out", out],
        ["research", "extraction", "inject", g, "--out", out],
        ["research", "extraction", "find", g, "--out", out, "--model", str(tmp_path)],
    ]
    for arguments, status, output in run_bare(*commands):
        assert status == 2, (arguments, output)
        assert "unforeseen" not in output, (arguments, output)
        assert "in the folder of your copy of inverse-deid, run pip install '.[train]'" in output, arguments
