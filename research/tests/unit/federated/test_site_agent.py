"""Sites that exchange messages do what the study does in one process, to the last bit."""

from functools import partial

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from tiny_networks import are_equal, examples, network_config, new_network

from inverse_deid.core.errors import UpdateError
from inverse_deid_research.federated import methods
from inverse_deid_research.federated.documents import EncodedSite
from inverse_deid_research.federated.messages import Reply, open_sealed, pack, seal, unpack
from inverse_deid_research.federated.methods import COMMON, Course
from inverse_deid_research.federated.network import DirectEpochs, LocalTrainer
from inverse_deid_research.federated.server import begin_training, end_round
from inverse_deid_research.federated.settings import CommonTraining, EpochSettings, SelectiveSettings
from inverse_deid_research.federated.site import SiteAgent
from inverse_deid_research.federated.weights import copy_weights

CONFIG = network_config(token_units=4)
SITES = ("east", "west", "north")
KEY = b"0123456789abcdef"
PLANTED = "Zora", "Okonkwo", "Velmo", "Lindero"
"""The invented words that the examples mark as PHI."""


@pytest.fixture(scope="module")
def trainer():
    local = EpochSettings(optimizer="adam", learning_rate=0.01, batch_tokens=32, window=16)
    return LocalTrainer(new_network(CONFIG, seed=1), CONFIG, local)


@pytest.fixture(scope="module")
def course(trainer):
    sites = [EncodedSite(name, examples(CONFIG, i, 6), []) for i, name in enumerate(SITES)]
    begin = partial(DirectEpochs, trainer, [site.train for site in sites])
    return Course(trainer, sites, begin, copy_weights(new_network(CONFIG, seed=5)), n_epochs=2, seed=7)


@pytest.fixture
def agents(course, tmp_path):
    settings = SelectiveSettings(download=0.5, upload=0.5, tau=0)
    return {
        site.name: SiteAgent(site.name, course.trainer, site.train, settings, tmp_path / f"{site.name}.npz")
        for site in course.sites
    }


def play(way, course, agents, sent=None):
    """A whole run, every reply sealed and opened on its way."""
    agreed = CommonTraining(way=way, sites=SITES, epochs=2, seed=7)
    layout = course.trainer.layout
    state = begin_training(agreed, "run", layout, course.start)
    while not state.finished:
        replies = {}
        for name in state.asked:
            data = seal(pack(agents[name].answer(state)), KEY)
            if sent is not None:
                sent.append(data)
            replies[name] = unpack(open_sealed(data, KEY), Reply)
        state, report = end_round(agreed, layout, state, replies)
        assert not report.left_out
    return state


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "method"), [("average", methods.train_averaged), ("round-robin", methods.train_in_turns)]
)
def test_messages_change_nothing(way, method, course, agents):
    wanted = list(method(course))[-1].networks[COMMON]
    found = course.trainer.layout.split(play(way, course, agents).weights)
    assert are_equal(found, wanted)


def test_selective_sites_end_with_networks_of_their_own(course, agents):
    state = play("selective", course, agents)
    results = [agents[name].end(state) for name in SITES]
    assert not np.array_equal(results[0], results[1])
    assert state.counts.max() > 1


def test_an_answer_that_was_lost_is_made_again(course, agents):
    state = begin_training(
        CommonTraining(way="selective", sites=SITES, epochs=2), "run", course.trainer.layout, course.start
    )
    agreed = CommonTraining(way="selective", sites=SITES, epochs=2)
    first = {name: agents[name].answer(state) for name in SITES}
    state, _ = end_round(agreed, course.trainer.layout, state, first)
    once, again = (agents["east"].answer(state).changes for _ in range(2))
    assert np.array_equal(once.indices, again.indices)
    assert np.array_equal(once.values, again.values)


def test_no_word_leaves_a_site(course, agents):
    """Names are planted in the documents; every byte that is sent is searched for them."""
    every = {word for site in course.sites for example in site.train for word in example.words}
    words = {word for word in every if len(word) > 3}  # shorter ones may stand in numbers by chance
    assert set(PLANTED) <= words
    for way in ("average", "selective", "round-robin"):
        sent: list[bytes] = []
        play(way, course, agents, sent)
        everything = b"".join(sent)
        for word in words:
            for form in (word, word.lower(), word[::-1]):
                for coding in ("utf-8", "utf-16-le", "utf-32-le"):
                    assert form.encode(coding) not in everything


def test_no_row_of_the_word_matrix_leaves_a_site(course, agents):
    layout = course.trainer.layout
    assert not [name for name in layout.names if "word_embedding" in name]
    assert play("average", course, agents).weights.shape == (layout.n_numbers,)


def test_a_state_of_another_network_is_refused(course, agents):
    state = begin_training(
        CommonTraining(way="average", sites=SITES, epochs=1), "run", course.trainer.layout, course.start
    )
    from dataclasses import replace

    with pytest.raises(UpdateError, match="another network"):
        agents["east"].answer(replace(state, weights=state.weights[:-1]))
    with pytest.raises(UpdateError, match="not asked"):
        agents["east"].answer(replace(state, asked=("west",)))
