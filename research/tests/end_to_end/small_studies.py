"""A small study of common training: for tests of `inverse-deid research federated simulate`."""

from invented_corpora import write_corpus, write_word_vectors

THREE_SITES = """
[data]
train = ["train.jsonl"]
test = ["test.jsonl"]
word_vectors = "vectors.npz"
[sites]
number = 3
held_out = 0.3
[study]
epochs = 2
seeds = [1]
precision = 0.6
recall = 0.9
[methods.A]
way = "central"
[methods.C]
way = "selective"
download = 0.5
[methods.D]
way = "isolated"
[methods.FedAvg]
way = "average"
"""


def write_study(folder, settings):
    """Corpora, word vectors and `study.toml`.

    Args:
        folder: Takes them.
        settings: Network and training in TOML, perhaps further methods before them.
    """
    write_corpus(folder / "train.jsonl", 24, seed=1)
    write_corpus(folder / "test.jsonl", 6, seed=2)
    write_word_vectors(folder / "vectors.npz")
    (folder / "study.toml").write_text(THREE_SITES + settings, encoding="utf-8")


def change_study(folder, old, new):
    """Put one setting of `study.toml` in the place of another, which must stand there."""
    path = folder / "study.toml"
    settings = path.read_text(encoding="utf-8")
    assert old in settings
    path.write_text(settings.replace(old, new), encoding="utf-8")
