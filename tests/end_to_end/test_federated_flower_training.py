"""`inverse-deid research federated server|site` over Flower's SuperLink: the server is killed and resumes."""

import signal

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("flwr")

from federated_centres import COMMON, LIMIT_S, SERVER, SITE, Centre, write_sites
from flower_parties import SuperLink, write_node_key
from invented_corpora import words_of

from inverse_deid.network.folder import read_model

SITES = ("east", "west")
FLOWER = """
[flower]
superlink = "{address}"
root_certificates = "ca.pem"
"""

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def centre(tmp_path):
    link = SuperLink(tmp_path)
    flower = FLOWER.format(address=link.address)
    folder = 'folder = "exchange"\n'
    site = SITE.replace(folder, "") + flower + 'node_key = "nodes/{name}"\n'
    write_sites(tmp_path, SITES, site)
    for name in SITES:
        write_node_key(tmp_path / "nodes", name)
    server = SERVER.format(way="average", epochs=3, join_s=LIMIT_S, answer_s=LIMIT_S)
    server = server.replace('["east", "west", "north", "south"]', '["east", "west"]').replace(folder, "")
    (tmp_path / "server.toml").write_text(
        server + flower + 'secret = "secret"\nnode_keys = "nodes"\n' + COMMON
    )
    made = Centre(tmp_path, FLWR_DISABLE_UPDATE_CHECK="1", FLWR_HOME=str(tmp_path / "flower-home"))
    link.start()
    yield made
    made.close()
    link.process.terminate()
    link.process.wait(60)


def test_a_training_over_the_superlink(centre):
    sites = {name: centre.site(name) for name in SITES}  # before the server: they wait to be let in
    server = centre.start("server", "--config", "server.toml")
    centre.until(lambda: "round 0: used" in server.printed.read_text())
    server.send_signal(signal.SIGKILL)
    server.wait(30)
    server = centre.start("server", "--config", "server.toml", "--resume")

    status, printed = centre.ended(server)
    assert status == 0, printed + centre.words()
    assert "resuming with round" in printed
    assert "finished. Every site has the result" in printed
    assert "left out" not in printed
    for name, site in sites.items():
        status, printed = centre.ended(site)
        assert status == 0, printed
        assert "model written" in printed
        assert read_model(centre.folder / f"model-{name}").provenance["calibrated_on"]["site"] == name
        log = (centre.folder / f"private-{name}" / "leaving.log").read_text()
        assert all(f"reply for round {number}" in log for number in range(3))
    stored = b"".join(path.read_bytes() for path in centre.folder.glob("superlink.db*"))
    names = {word for name in SITES for word in words_of(centre.folder / f"{name}.jsonl")}
    assert names
    assert not [word for word in names if word.encode() in stored or word.lower().encode() in stored]

    again = centre.start("server", "--config", "server.toml")  # a checkpoint is not overwritten
    status, printed = centre.ended(again)
    assert status == 2
    assert "left by an earlier run. Resume it with --resume" in printed
