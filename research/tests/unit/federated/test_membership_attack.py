"""The membership attempt finds what a network learned by heart, and nothing where there is nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from inverse_deid_research.federated.attacks import attempt_membership, measure_losses, measure_membership

pytestmark = pytest.mark.slow


def rng():
    return np.random.default_rng(2)


def test_pairs_are_counted_within_a_site():
    east = (np.array([0.1, 0.3]), np.array([0.2, 0.3]))  # 1 + 1 + 0 + a half of 4 pairs
    west = (np.array([5.0]), np.array([0.0, 9.0]))  # 1 of 2
    found = measure_membership([east, west], rng())
    assert found["auc"] == pytest.approx(3.5 / 6)
    assert (found["n_members"], found["n_others"]) == (3, 4)
    assert found["low"] <= found["auc"] <= found["high"]


def test_without_other_documents_nothing_is_measured():
    assert measure_membership([(np.array([1.0]), np.array([]))], rng()) is None


def test_the_interval_holds_one_half_where_both_are_alike():
    draw = np.random.default_rng(5)
    found = measure_membership([(draw.normal(size=60), draw.normal(size=40))], rng())
    assert found["low"] < 0.5 < found["high"]
    assert found["high"] - found["low"] < 0.3


@pytest.fixture(scope="module")
def by_heart():
    """A network that learned random labels of some documents by heart; only memory can know them."""
    pytest.importorskip("tensorflow")
    from tiny_networks import examples, network_config, new_network

    from inverse_deid_research.federated.network import LocalTrainer
    from inverse_deid_research.federated.settings import EpochSettings
    from inverse_deid_research.federated.weights import copy_weights

    config = network_config(token_units=32, dropout=0.0)
    drawn = np.random.default_rng(8)
    made = examples(config, 1, 72)
    for example in made:
        example.labels[:] = drawn.integers(0, 2, len(example))
        example.weights[:] = 1.0
    local = EpochSettings(optimizer="adam", learning_rate=0.02, batch_tokens=256, window=32)
    trainer = LocalTrainer(new_network(config, seed=1), config, local)
    weights, optimizer = copy_weights(new_network(config, seed=2)), None
    for epoch in range(120):
        done = trainer.train_epoch(made[:12], weights, (3, epoch), optimizer)
        weights, optimizer = done.weights, done.optimizer
    assert done.loss < 0.4
    return made, lambda docs: measure_losses(docs, trainer.predict(weights, docs))


def test_documents_learned_by_heart_are_found(by_heart):
    made, losses = by_heart
    found = measure_membership([(losses(made[:12]), losses(made[12:]))], rng())
    assert found["auc"] > 0.9
    assert found["low"] > 0.8


def test_among_documents_that_were_not_learned_there_is_nothing_to_find(by_heart):
    made, losses = by_heart
    found = measure_membership([(losses(made[12:42]), losses(made[42:]))], rng())
    assert found["low"] < 0.5 < found["high"]


def test_the_network_of_each_site_is_asked_about_its_own_documents():
    """A network that is sure of what it was trained on, and of nothing else."""
    from tiny_networks import examples, network_config

    from inverse_deid_research.federated.documents import EncodedSite

    config = network_config()
    sites = [
        EncodedSite(name, examples(config, i, 7), examples(config, i + 9, 2)) for i, name in enumerate("ab")
    ]

    def predict(learned, docs):
        return [np.full((len(doc), 2), 0.9 if id(doc) in learned else 0.1, np.float32) for doc in docs]

    networks = {site.name: {id(doc) for doc in site.train} for site in sites}
    found = attempt_membership(SimpleNamespace(predict=predict), sites, networks, seed=1)["all tokens"]
    assert (found["auc"], found["n_members"], found["n_others"]) == (1.0, 12, 4)


def test_losses_of_phi_alone():
    pytest.importorskip("tensorflow")
    from tiny_networks import examples, network_config

    (doc,) = examples(network_config(), 3, 1)
    doc.labels[:] = 0
    doc.labels[0] = 1
    rows = np.full((len(doc), 2), 0.5, np.float32)
    rows[0] = 0.75, 0.25
    assert measure_losses([doc], [rows], phi_only=True) == pytest.approx([-np.log(0.25)])
    doc.labels[:] = 0
    assert len(measure_losses([doc], [rows], phi_only=True)) == 0
