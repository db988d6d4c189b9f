"""The methods on a network of a few hundred weights, against what their definitions say."""

from functools import partial

import msgspec
import numpy as np
import pytest

pytest.importorskip("tensorflow")

from tiny_networks import are_equal, examples, network_config, new_network

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.federated import methods
from inverse_deid_research.federated.documents import EncodedSite
from inverse_deid_research.federated.methods import COMMON, Course
from inverse_deid_research.federated.network import DirectEpochs, LocalTrainer
from inverse_deid_research.federated.settings import EpochSettings, SelectiveSettings
from inverse_deid_research.federated.weights import copy_weights, read_layout

pytestmark = pytest.mark.slow

CONFIG = network_config(token_units=4)
LOCAL = EpochSettings(learning_rate=0.1, batch_tokens=32, window=16)


@pytest.fixture(scope="module")
def trainer():
    return LocalTrainer(new_network(CONFIG, seed=1), CONFIG, LOCAL)


@pytest.fixture(scope="module")
def start():
    return copy_weights(new_network(CONFIG, seed=5))


@pytest.fixture(scope="module")
def course(trainer, start):
    sites = [
        EncodedSite(name, examples(CONFIG, i, 6), []) for i, name in enumerate(("east", "west", "north"))
    ]
    return course_of(trainer, sites, start, n_epochs=2, seed=7)


def course_of(trainer, sites, start, n_epochs, seed):
    begin = partial(DirectEpochs, trainer, [site.train for site in sites])
    return Course(trainer, sites, begin, start, n_epochs, seed)


def one_epoch(course, number, epoch, weights):
    return course.begin()([course.task(number, epoch, weights)])[0]


def by_hand(course, number, epoch, weights):
    return one_epoch(course, number, epoch, weights).weights


def test_an_epoch_depends_on_its_seed_alone(course, start):
    first = by_hand(course, 0, 0, start)
    by_hand(course, 1, 3, start)
    assert are_equal(by_hand(course, 0, 0, start), first)
    assert not are_equal(by_hand(course, 0, 1, start), first)


def test_a_site_keeps_its_optimizer_within_a_run_alone(start):
    local = EpochSettings(optimizer="adam", learning_rate=0.01, batch_tokens=32, window=16)
    trainer = LocalTrainer(new_network(CONFIG, seed=1), CONFIG, local)
    sites = [EncodedSite(name, examples(CONFIG, i, 6), []) for i, name in enumerate(("east", "west"))]
    course = course_of(trainer, sites, start, n_epochs=1, seed=7)
    train = course.begin()
    first, other = train(course.tasks(0, [start, start]))
    (again,) = train([course.task(0, 0, start)])
    assert not are_equal(again.weights, first.weights)
    assert are_equal(by_hand(course, 0, 0, start), first.weights)
    assert are_equal(by_hand(course, 1, 0, start), other.weights)


def test_isolated_sites_never_meet(course, start):
    last = list(methods.train_alone(course))[-1]
    for number, site in enumerate(course.sites):
        alone = by_hand(course, number, 1, by_hand(course, number, 0, start))
        assert are_equal(last.networks[site.name], alone)
    assert (last.n_sent, last.n_received) == (0, 0)


def test_round_robin_hands_the_network_on(course, start):
    weights = start
    for epoch in range(2):
        for number in range(3):
            weights = by_hand(course, number, epoch, weights)
    last = list(methods.train_in_turns(course))[-1]
    assert are_equal(last.networks[COMMON], weights)


def test_the_mean_is_that_of_the_sites(course, start):
    first = next(methods.train_averaged(course))
    dones = [one_epoch(course, number, 0, start) for number in range(3)]
    n_tokens = np.array([done.n_tokens for done in dones], np.float64)
    assert first.networks[COMMON]
    for i, array in enumerate(first.networks[COMMON]):
        wanted = sum(
            done.weights[i] * share for done, share in zip(dones, n_tokens / n_tokens.sum(), strict=True)
        )
        assert np.allclose(array, wanted, atol=1e-6)


def test_central_training_sees_all_documents(course):
    outcome = next(methods.train_centrally(course))
    assert list(outcome.networks) == [COMMON]
    assert outcome.n_sent == 0


def test_selective_without_any_exchange_is_isolated(course):
    settings = dict.fromkeys(("east", "west", "north"), SelectiveSettings(download=0, upload=0))
    found, alone = (
        list(methods.train_selectively(course, settings))[-1],
        list(methods.train_alone(course))[-1],
    )
    for name in settings:
        assert are_equal(found.networks[name], alone.networks[name])


def test_selective_with_full_exchange_is_round_robin_in_the_drawn_order(course, start):
    everything = SelectiveSettings(download=1, upload=1, gamma=1e6, tau=0)
    settings = dict.fromkeys(("east", "west", "north"), everything)
    outcome = next(methods.train_selectively(course, settings))
    order = course.rng(0, 2).permutation(3).tolist()
    weights = start
    for number in order:
        weights = by_hand(course, number, 0, weights)
    last = outcome.networks[course.sites[order[-1]].name]
    # the server adds float32 differences: equal up to rounding
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(last, weights, strict=True))


def test_selective_sends_at_most_its_share(course):
    settings = {
        "east": SelectiveSettings(download=0.1, upload=0.5),
        "west": SelectiveSettings(download=0.5, upload=0.0),
        "north": SelectiveSettings(download=0.0, upload=0.25),
    }
    n = course.trainer.layout.n_numbers
    outcome = next(methods.train_selectively(course, settings))
    assert outcome.n_received == int(0.1 * n) + int(0.5 * n)
    assert 0 < outcome.n_sent <= int(0.5 * n) + int(0.25 * n)


def test_the_proximal_term_keeps_a_site_near(course, start):
    local = msgspec.structs.replace(LOCAL, proximal=5.0)
    near = LocalTrainer(new_network(CONFIG, seed=1), CONFIG, local)
    free = by_hand(course, 0, 0, start)
    held = near.train_epoch(course.sites[0].train, start, (7, 0, 0, 0)).weights
    layout = near.layout
    moved = [float(np.linalg.norm(layout.flatten(w) - layout.flatten(start))) for w in (held, free)]
    assert 0 < moved[0] < 0.9 * moved[1]


def test_training_lowers_the_loss(trainer, start):
    sites = [EncodedSite("east", examples(CONFIG, 0, 30), [])]
    course = course_of(trainer, sites, start, n_epochs=6, seed=1)
    losses = [outcome.loss for outcome in methods.train_centrally(course)]
    assert losses[-1] < losses[0]


def test_the_word_matrix_is_never_among_the_weights(trainer):
    assert not any("word_embedding" in name for name in trainer.layout.names)
    learned = new_network(network_config(learn_words=True), seed=1)
    with pytest.raises(ConfigurationError, match="learn_words"):
        read_layout(learned)
