"""Flower's simulation engine without Ray: packages, messages, what a node answers, an engine that stops."""

import re
from threading import Event

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.errors import ClusterError, ConfigurationError, InputError, StageError
from inverse_deid_research.federated import study
from inverse_deid_research.federated.network import LocalEpoch, SiteTask
from inverse_deid_research.federated.study import FlowerSimulation

WEIGHTS = [np.array([[0.1, -2.5]], np.float32), np.zeros(3, np.float32)]
OPTIMIZER = [np.array(7, np.int64), np.full(2, 0.25, np.float32)]
TASK = SiteTask(1, WEIGHTS, (3, 0, 1, 0))


@pytest.fixture
def packages(monkeypatch):
    found = {"flwr": "1.41.0", "ray": "2.55.1"}
    monkeypatch.setattr(study, "find_version", found.__getitem__)
    return found


@pytest.mark.parametrize(("name", "version"), [("flwr", "none"), ("flwr", "1.42.0"), ("ray", "none")])
def test_missing_packages_are_named_before_anything_is_read(packages, name, version):
    packages[name] = version
    with pytest.raises(ConfigurationError, match=rf"{name} {version}.*federated-simulation") as raised:
        FlowerSimulation()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("wanted", "n_sites", "found"), [(2, 5, 2), (8, 5, 5), (0, 1, 1)])
def test_no_process_is_idle(packages, wanted, n_sites, found):
    assert FlowerSimulation(wanted).count_processes(n_sites) == found


def test_a_corpus_that_changed_meanwhile_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("flwr")
    from inverse_deid_research.federated import flower

    monkeypatch.setattr(flower, "_limit_threads", lambda n: None)
    corpus = tmp_path / "train.jsonl"
    corpus.write_text("{}\n")
    with pytest.raises(InputError, match="changed since the study began"):
        flower.SimulatedSite(flower.SitePlan(None, ((str(corpus), "0" * 64),), 1))


class Standing:
    """In the place of a process with documents."""

    def __init__(self, problem=None):
        self.problem, self.asked = problem, []

    def train_epoch(self, task, proximal, optimizer):
        self.asked.append((task, proximal, optimizer))
        if self.problem:
            raise self.problem
        return LocalEpoch(task.weights, OPTIMIZER, 0.123456789, 42, 1.5)


@pytest.fixture
def answers(monkeypatch):
    """What a node answers to questions, one after another."""
    pytest.importorskip("flwr")
    from flwr.app import RecordDict

    from inverse_deid_research.federated import flower

    def run(standing, *numbers):
        monkeypatch.setattr(flower, "find_simulated_site", lambda plan: standing)
        state = RecordDict()
        return [
            flower.answer_question(None, flower.pack_question(TASK, number, 0.5), state) for number in numbers
        ]

    return run


def are_equal(ones, others):
    return all(
        np.array_equal(one, other) and one.dtype == other.dtype
        for one, other in zip(ones, others, strict=True)
    )


def test_a_node_keeps_the_optimizer_within_a_run_and_sends_it_nowhere(answers):
    standing = Standing()
    records = answers(standing, 0, 0, 1)
    (task, proximal, first), (_, _, second), (_, _, other) = standing.asked
    assert (task.place, task.randomness, proximal) == (1, (3, 0, 1, 0), 0.5)
    assert are_equal(task.weights, WEIGHTS)
    assert first is None
    assert other is None
    assert are_equal(second, OPTIMIZER)
    from inverse_deid_research.federated.flower import unpack_answer

    for record in records:
        epoch = unpack_answer("east", record)
        assert are_equal(epoch.weights, WEIGHTS)
        assert epoch.optimizer == []
        assert (epoch.loss, epoch.n_tokens, epoch.seconds) == (0.123456789, 42, 1.5)
        assert set(record) == {"weights", "numbers"}


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (StageError("the loss is not a number"), "the loss is not a number"),
        (
            ValueError("a narrative of Zora"),
            r"an unforeseen error \(ValueError at test_flower_simulation\.py:\d+\) in a local epoch",
        ),
    ],
)
def test_a_node_answers_in_one_line_what_goes_wrong(answers, problem, line):
    (record,) = answers(Standing(problem), 0)
    from inverse_deid_research.federated.flower import unpack_answer

    with pytest.raises(StageError) as raised:
        unpack_answer("east", record)
    assert re.fullmatch(f"east: {line}", str(raised.value))


class Silent:
    """A grid whose nodes never answer."""

    def __init__(self, n_nodes):
        self.n_nodes = n_nodes

    def get_node_ids(self):
        return range(self.n_nodes)

    def push_messages(self, messages):
        return [str(i) for i, _ in enumerate(messages)]

    def pull_messages(self, ids):
        return []


@pytest.mark.parametrize("n_nodes", [0, 2])
def test_nobody_waits_for_an_engine_that_has_stopped(monkeypatch, n_nodes):
    pytest.importorskip("flwr")
    from inverse_deid_research.federated import flower

    monkeypatch.setattr(flower, "Message", lambda *content, ttl: content)  # a real one needs a running app
    ended = Event()
    ended.set()
    train = flower.NodeSites(Silent(n_nodes), ("east", "west"), ended).begin(0.0)
    with pytest.raises(ClusterError, match="has stopped"):
        train([TASK])
