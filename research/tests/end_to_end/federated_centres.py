"""The folder of a common training, and the processes in it: for tests of server and sites."""

import os
import subprocess
import sys
import time

from invented_corpora import write_corpus, write_word_vectors

SITES = ("east", "west", "north", "south")
LIMIT_S, EPOCHS = 900, 3
COMMON = """
[network]
feature_set = "casing"
post_space = false
targets = "binary"
char_dim = 5
char_units = 4
feature_units = 4
token_units = 6
token_layers = 1
dropout = 0.1
[training]
optimizer = "adam"
learning_rate = 0.05
batch_tokens = 128
phi_weight = 3.0
"""
SERVER = """
[server]
way = "{way}"
sites = ["east", "west", "north", "south"]
epochs = {epochs}
least_sites = 2
checkpoint = "server.npz"
word_vectors = "vectors.npz"
[exchange]
folder = "exchange"
keys = "keys"
join_s = {join_s}
answer_s = {answer_s}
"""
SITE = """
[site]
name = "{name}"
documents = ["{name}.jsonl"]
held_out = 0.4
private = "private-{name}"
model = "model-{name}"
word_vectors = "vectors.npz"
[selective]
download = 0.5
tau = 0.0
[exchange]
folder = "exchange"
key = "keys/{name}.key"
patience_s = 600
"""


class Centre:
    """The folder of a training, and the processes in it."""

    def __init__(self, folder, **environment):
        self.folder, self.processes = folder, []
        self.environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | environment

    def start(self, *words):
        command = [sys.executable, "-m", "inverse_deid.cli.main", "research", "federated", *words]
        path = self.folder / f"{words[0]}-{len(self.processes)}.txt"
        with path.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, env=self.environment
            )
        process.printed = path
        self.processes.append(process)
        return process

    def site(self, name):
        return self.start("site", "--config", f"site-{name}.toml")

    def until(self, found):
        end = time.monotonic() + LIMIT_S
        while not found():
            assert time.monotonic() < end, self.words()
            time.sleep(0.1)

    def ended(self, process):
        status = process.wait(LIMIT_S)
        return status, process.printed.read_text()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(30)

    def words(self):
        return "\n".join(process.printed.read_text()[-500:] for process in self.processes)

    def replies(self, name):
        return sorted((self.folder / "exchange" / "from" / name).glob("reply-*.msg"))


def write_sites(folder, sites=SITES, site=SITE, common=COMMON):
    """Documents, seal and settings of each site, and the word vectors of all."""
    (folder / "keys").mkdir(exist_ok=True)
    write_word_vectors(folder / "vectors.npz")
    for i, name in enumerate(sites):
        write_corpus(folder / f"{name}.jsonl", 10, seed=i)
        (folder / "keys" / f"{name}.key").write_bytes(bytes([i] * 32))
        (folder / f"site-{name}.toml").write_text(site.format(name=name) + common)
