"""A server and four sites as processes of their own, that train together, die and come back."""

import signal

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("tensorflow")

from federated_centres import COMMON, EPOCHS, LIMIT_S, SERVER, SITES, Centre, write_sites
from invented_corpora import words_of, write_corpus

from inverse_deid.network.folder import read_model
from inverse_deid_research.studies.records import read_arrays

pytestmark = pytest.mark.slow


@pytest.fixture
def centre(tmp_path):
    write_sites(tmp_path)
    made = Centre(tmp_path)
    yield made
    made.close()


def write_server(centre, way, *, epochs=EPOCHS, join_s=LIMIT_S, answer_s=LIMIT_S):
    text = SERVER.format(way=way, epochs=epochs, join_s=join_s, answer_s=answer_s)
    (centre.folder / "server.toml").write_text(text + COMMON)


def undisturbed(centre):
    """The same training in this process: nobody dies; weights at the end and F1 on other documents."""
    from inverse_deid_research.federated.messages import Reply, unpack
    from inverse_deid_research.federated.server import begin_training, end_round
    from inverse_deid_research.federated.settings import ServerSettings, SiteSettings, read_party_settings
    from inverse_deid_research.federated.site import SiteRun

    server = read_party_settings(centre.folder / "server.toml", ServerSettings)
    sites = {}
    for name in SITES:
        config = read_party_settings(centre.folder / f"site-{name}.toml", SiteSettings)
        private = replace(config.site, private=centre.folder / f"reference-{name}")
        sites[name] = SiteRun(replace(config, site=private), lambda _: None)
    common = sites["east"].common
    state = begin_training(
        server.server, "reference", common.trainer.layout, common.start(server.server.seed)
    )
    start = state.weights
    while not state.finished:
        replies = {name: unpack(sites[name].open(sites[name].answer(state)), Reply) for name in state.asked}
        state, _ = end_round(server.server, common.trainer.layout, state, replies)
    return common, start, state.weights


def f1_of(common, weights, path):
    from inverse_deid.lexicon import load_lexicon
    from inverse_deid.training.corpus import read_annotated, read_type_mapping
    from inverse_deid.training.examples import ExampleMaker, Weights
    from inverse_deid_research.federated.study import measure_tokens, score_tokens

    maker = ExampleMaker(common.config, load_lexicon(), common.vectors)
    test = maker.make_many([(doc, Weights()) for doc in read_annotated(path, read_type_mapping(None))])
    said = common.trainer.predict(common.trainer.layout.split(weights), test)
    return measure_tokens(score_tokens(test, said), 0.9)["f1"]


def test_killed_processes_come_back_and_nothing_is_lost(centre):
    """Five processes: a site dies while it is asked, then the server while it waits; both come back."""
    write_server(centre, "selective")  # the way with most to lose: the server counts what each site gave
    server = centre.start("server", "--config", "server.toml")
    sites = {name: centre.site(name) for name in SITES}

    centre.until((centre.folder / "exchange" / "to" / "east" / "state-000001.msg").exists)
    sites["east"].send_signal(signal.SIGKILL)
    sites["east"].wait(120)
    centre.until(lambda: all(len(centre.replies(name)) == 2 for name in SITES if name != "east"))
    server.send_signal(signal.SIGKILL)
    server.wait(120)
    sites["east"] = centre.site("east")
    server = centre.start("server", "--config", "server.toml", "--resume")

    status, printed = centre.ended(server)
    assert status == 0, printed + centre.words()
    assert "resuming with round" in printed
    assert f"round {EPOCHS - 1}: used" in printed
    assert "left out" not in printed
    for name, site in sites.items():
        status, printed = centre.ended(site)
        assert status == 0, printed
        model = read_model(centre.folder / f"model-{name}")
        assert model.provenance["calibrated_on"]["site"] == name
        log = (centre.folder / f"private-{name}" / "leaving.log").read_text().splitlines()
        assert len([line for line in log if "reply for round" in line]) >= EPOCHS

    sent = b"".join(path.read_bytes() for path in (centre.folder / "exchange").rglob("*.msg"))
    names = {word for name in SITES for word in words_of(centre.folder / f"{name}.jsonl")}
    assert names
    assert not [word for word in names if word.encode() in sent or word.lower().encode() in sent]

    common, start, wanted = undisturbed(centre)
    found = read_arrays(centre.folder / "server.npz")["weights"]
    assert np.abs(wanted - start).max() > 0.1
    assert np.abs(found - wanted).max() < 1e-3
    test = write_corpus(centre.folder / "test.jsonl", 10, seed=9)
    reference = f1_of(common, wanted, test)
    assert reference > 0.3
    assert abs(f1_of(common, found, test) - reference) < 0.01


def test_a_dead_site_is_left_out_and_a_dead_server_is_not_waited_for(centre):
    """Every wait ends: the server goes on without a site, and sites give up without a server."""
    write_server(centre, "average", epochs=2, answer_s=90)
    for name in SITES:
        path = centre.folder / f"site-{name}.toml"
        path.write_text(path.read_text().replace("patience_s = 600", "patience_s = 90"))
    server = centre.start("server", "--config", "server.toml")
    sites = {name: centre.site(name) for name in SITES}
    centre.until((centre.folder / "exchange" / "to" / "east" / "state-000000.msg").exists)
    sites["east"].send_signal(signal.SIGKILL)
    centre.until(lambda: "left out: east did not answer in time" in centre.words())
    server.send_signal(signal.SIGKILL)
    for name in SITES[1:]:
        status, printed = centre.ended(sites[name])
        assert status == 2, printed
        assert "the server was silent for 90 s. Start the site again" in printed


def test_a_site_of_another_network_is_refused_before_training(centre):
    write_server(centre, "average", epochs=1)
    path = centre.folder / "site-west.toml"
    path.write_text(path.read_text().replace("token_units = 6", "token_units = 7"))
    server = centre.start("server", "--config", "server.toml")
    for name in SITES:
        centre.site(name)
    status, printed = centre.ended(server)
    assert status == 2
    lines = [line for line in printed.splitlines() if line.startswith("inverse-deid: ")]
    assert lines == ["inverse-deid: site west: has another network; give every site the same [network]."]
    assert not list((centre.folder / "exchange").rglob("state-*.msg"))


def test_a_server_without_sites_does_not_wait_for_ever(centre):
    write_server(centre, "average", join_s=1)
    status, printed = centre.ended(centre.start("server", "--config", "server.toml"))
    assert status == 2
    assert "site east: did not declare itself within 1 s" in printed


def test_a_dry_run_sends_nothing(centre):
    status, printed = centre.ended(
        centre.start("site", "--config", "site-east.toml", "--dry-run", "selective")
    )
    assert status == 0, printed
    for words in ("nothing was sent", "values:", "norm", "no formal guarantee", "declaration"):
        assert words in printed
    assert not (centre.folder / "exchange").exists()
    names = words_of(centre.folder / "east.jsonl")
    assert names
    assert not [word for word in names if word in printed]
