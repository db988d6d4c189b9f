"""`inverse-deid research share` from two institutions to masked text, and what it refuses."""

import json
import shutil

import numpy as np
import pytest
import tiny_representations as tiny
from click.testing import CliRunner
from fake_maskers import CANARY

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

import pyarrow.parquet

from inverse_deid.cli.main import main
from inverse_deid.core.seals import seal
from inverse_deid.training.corpus import read_annotated

pytestmark = pytest.mark.slow

SETTINGS = """
[representation]
dim = 4
units = 3
neighbours = 3
procedure = "reversal"
[adversary]
units = 3
epochs = 2
[tagger]
units = 6
layers = 1
[learning]
epochs = 15
patience = 15
batch = 8
learning_rate = 0.02
validation_share = 0.3
"""


def share(*arguments):
    result = CliRunner().invoke(main, ["research", "share", *map(str, arguments)])
    assert CANARY not in result.output
    return result


def done(*arguments):
    result = share(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments):
    """The one line on standard error."""
    result = share(*arguments)
    assert result.exit_code == 2, result.output
    (complaint,) = result.stderr.splitlines()
    assert complaint.startswith("inverse-deid: ")
    assert "unforeseen" not in complaint
    return complaint


def write_corpus(path, docs):
    lines = []
    for doc in docs:
        spans = [{"start": s.start, "end": s.end, "type": s.type} for s in doc.spans]
        lines.append(json.dumps({"id": doc.id, "text": doc.text, "spans": spans}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A published representation, the files of two institutions, their pool and a network."""
    folder = tmp_path_factory.mktemp("shared")
    vectors = tiny.vectors()
    np.savez(folder / "vectors.npz", words=np.array(vectors.words), codes=vectors.codes, scale=vectors.scale)
    (folder / "sharing.toml").write_text(SETTINGS, encoding="utf-8")
    write_corpus(folder / "provider.jsonl", tiny.documents(14, 1))
    write_corpus(
        folder / "one.jsonl", [*tiny.documents(8, 2), tiny.annotated(f"[{CANARY}] had a rash.", CANARY)]
    )
    write_corpus(folder / "two.jsonl", tiny.documents(8, 3))
    config = ["--config", folder / "sharing.toml"]
    made = folder / "representation"
    done("init", folder / "provider.jsonl", "--out", made, "--word-vectors", folder / "vectors.npz", *config)
    for name in ("one", "two"):
        done(
            "encode", folder / f"{name}.jsonl", "--representation", made, "--out", folder / f"{name}.parquet"
        )
    done("pool", folder / "one.parquet", folder / "two.parquet", "--out", folder / "pool.parquet")
    done("train", folder / "pool.parquet", "--representation", made, "--out", folder / "model", *config)
    return folder


def rows_of(path):
    return pyarrow.parquet.read_table(path).to_pydict()


def test_nothing_that_is_written_holds_a_planted_name(shared):
    written = shared / "one.parquet"
    table = pyarrow.parquet.read_table(written)
    told = [written.read_bytes(), repr(table.to_pydict()).encode(), repr(table.schema.metadata).encode()]
    secrets = {CANARY, *tiny.NAMES, "case-2-0"}
    for content in told:
        for secret in secrets:
            for way in (secret, secret.lower(), secret.title(), secret.encode("utf-16-le").decode("latin-1")):
                assert way.encode("latin-1") not in content
    assert table.schema.names == ["vectors", "casings", "classes"]
    others = [path for path in shared.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert not [path for path in others if CANARY.lower().encode() in path.read_bytes().lower()]


def test_what_attackers_found_is_told_to_provider_and_institution(shared, tmp_path):
    attacks = json.loads((shared / "representation" / "manifest.json").read_text())["provenance"]["attacks"]
    looked_up = "look-up of known sentences (A2)"
    assert list(attacks) == ["same sentence or moved twin", looked_up, f"{looked_up}, encoded 4 times"]
    made = ["--representation", shared / "representation", "--out", tmp_path / "out.parquet"]
    output = done("encode", shared / "two.jsonl", *made).output
    one = attacks["same sentence or moved twin"]
    assert f"right in {100 * one['share']:.1f} % (± {100 * one['margin']:.1f}), chance 50.0 %" in output
    assert output.count("the provider measured: attack") == 3


def test_two_encodings_of_a_sentence_differ(shared):
    text = write_corpus(shared / "same.jsonl", [tiny.annotated("[Zora] had a rash. [Zora] had a rash.")])
    found = []
    for name in ("first", "second"):
        out = shared / f"{name}.parquet"
        done("encode", text, "--representation", shared / "representation", "--out", out)
        found += rows_of(out)["vectors"]
    assert len(found) == 4
    assert len({tuple(row) for row in found}) == 4
    assert all(
        a != b for i, one in enumerate(found) for two in found[:i] for a, b in zip(one, two, strict=True)
    )


def test_encoding_keeps_classes_and_casings_and_forgets_the_order(shared):
    expected = [(sentence.classes.tolist(), sentence.casings.tolist()) for sentence in tiny.sentences(8, 3)]
    rows = rows_of(shared / "two.parquet")
    found = list(zip(rows["classes"], rows["casings"], strict=True))
    assert sorted(found) == sorted(expected)
    assert found != expected
    assert all(len(v) == 4 * len(c) for v, c in zip(rows["vectors"], rows["classes"], strict=True))


def test_a_pool_holds_the_sentences_of_both(shared):
    both = [*rows_of(shared / "one.parquet")["vectors"], *rows_of(shared / "two.parquet")["vectors"]]
    together = rows_of(shared / "pool.parquet")["vectors"]
    assert sorted(together) == sorted(both)
    assert together != both


def test_masking_reads_through_the_representation(shared, tmp_path):
    (tmp_path / "case.txt").write_text("Okonkwo had a mild rash. The fever was mild.", encoding="utf-8")
    texts = []
    for out in ("a", "b"):
        arguments = ["mask", tmp_path / "case.txt", "--model", shared / "model", "--out", tmp_path / out]
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        texts.append((tmp_path / out / "case.txt").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert "Okonkwo" not in texts[0]


def test_masking_with_a_representation_alone_is_refused(shared, tmp_path):
    (tmp_path / "case.txt").write_text("A rash.", encoding="utf-8")
    arguments = [tmp_path / "case.txt", "--model", shared / "representation", "--out", tmp_path / "out"]
    result = CliRunner().invoke(main, ["mask", *map(str, arguments)])
    assert result.exit_code == 2
    assert "share train" in result.stderr


def pseudonymise(shared, corpus, out, *more):
    return ["pseudonymise", corpus, "--out", out, "--word-vectors", shared / "vectors.npz", *more]


def test_pseudonyms_are_written_as_annotated_documents(shared, tmp_path):
    out = tmp_path / "pseudonyms.jsonl"
    output = done(*pseudonymise(shared, shared / "one.jsonl", out, "--neighbours", 4)).output
    assert "sentences written to" in output and "annotated words" in output
    found, docs = read_annotated(out), read_annotated(shared / "one.jsonl")
    assert len(found) == len(tiny.sentences(8, 2)) + 1
    assert CANARY.lower() not in out.read_text(encoding="utf-8").lower()
    assert "case-2" not in out.read_text(encoding="utf-8")
    assert sum(len(doc.spans) for doc in found) == sum(len(doc.spans) for doc in docs)


def test_how_much_is_left_is_told_even_if_quiet(shared, tmp_path):
    command = pseudonymise(shared, shared / "one.jsonl", tmp_path / "out.jsonl", "--neighbours", 4, "-q")
    output = done(*command).output
    assert "annotated words" in output and "sentences written" not in output
    assert (
        share(*pseudonymise(shared, shared / "one.jsonl", tmp_path / "o", "--neighbours", 1)).exit_code == 2
    )


def test_as_many_neighbours_as_words_at_most(shared, tmp_path):
    out = tmp_path / "pseudonyms.jsonl"
    complaint = refused(*pseudonymise(shared, shared / "one.jsonl", out, "--neighbours", 100))
    assert "18 words have a vector" in complaint
    assert not out.exists()


BAD_CORPORA = {
    "no PHI": (["The rash was mild. It was mild."], "no PHI"),
    "one sentence": (["[Zora] had a rash"], "at least two"),
    "unknown words only": (["[Mbeki] kam. [Mbeki] ging."], "no word of the documents has a vector"),
}


@pytest.mark.parametrize("command", ["init", "encode", "pseudonymise"])
@pytest.mark.parametrize("case", BAD_CORPORA)
def test_a_corpus_that_cannot_be_used_is_refused(shared, tmp_path, case, command):
    texts, expected = BAD_CORPORA[case]
    corpus = write_corpus(
        tmp_path / "bad.jsonl", [tiny.annotated(text, f"d{i}") for i, text in enumerate(texts)]
    )
    if command == "init":
        complaint = refused(
            "init", corpus, "--out", tmp_path / "out", "--word-vectors", shared / "vectors.npz"
        )
    elif command == "pseudonymise":
        complaint = refused(*pseudonymise(shared, corpus, tmp_path / "out"))
    else:
        made = ["--representation", shared / "representation"]
        complaint = refused("encode", corpus, *made, "--out", tmp_path / "out")
    assert expected in complaint
    assert not (tmp_path / "out").exists()


def changed(source, target, change):
    """A copy of a Parquet file of private sentences with another table."""
    pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(source)), target)
    return target


def test_vectors_of_the_wrong_size_are_refused(shared, tmp_path):
    def shorten(table):
        cells = [cell[:-1] for cell in table.column("vectors").to_pylist()]
        return table.set_column(0, table.schema.field(0), [pyarrow.array(cells, table.schema.field(0).type)])

    bad = changed(shared / "one.parquet", tmp_path / "bad.parquet", shorten)
    complaint = refused("pool", bad, "--out", tmp_path / "out.parquet")
    assert "row 1 has" in complaint and "size 4" in complaint


def test_word_vectors_of_the_wrong_size_are_refused(tmp_path):
    vectors = tiny.vectors()
    codes = vectors.codes[:-1]
    np.savez(tmp_path / "bad.npz", words=np.array(vectors.words), codes=codes, scale=vectors.scale)
    corpus = write_corpus(tmp_path / "c.jsonl", tiny.documents(2))
    complaint = refused("init", corpus, "--out", tmp_path / "o", "--word-vectors", tmp_path / "bad.npz")
    assert "word vectors" in complaint
    assert not (tmp_path / "o").exists()


def test_a_pool_of_two_representations_is_refused(shared, tmp_path):
    def rename(table):
        (meta,) = table.schema.metadata.values()
        meta = {**json.loads(meta), "representation": "0" * 64}
        return table.replace_schema_metadata({"inverse_deid": json.dumps(meta)})

    other = changed(shared / "two.parquet", tmp_path / "other.parquet", rename)
    complaint = refused("pool", shared / "one.parquet", other, "--out", tmp_path / "out.parquet")
    assert "another representation" in complaint
    made = ["--representation", shared / "representation"]
    assert "another representation" in refused("train", other, *made, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def edited(folder, target, **values):
    shutil.copytree(folder, target)
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    (target / "manifest.json").write_text(json.dumps(seal(manifest | values)), encoding="utf-8")
    return target


@pytest.mark.parametrize("attacks", [[], {"x": {}}, {"x": {"share": 2.0, "margin": 0.1, "chance": 0.5}}])
def test_figures_of_attacks_that_cannot_be_told_are_refused(shared, tmp_path, attacks):
    other = edited(shared / "representation", tmp_path / "other", provenance={"attacks": attacks})
    out = ["--out", tmp_path / "out.parquet"]
    assert "damaged" in refused("encode", shared / "one.jsonl", "--representation", other, *out)
    assert not (tmp_path / "out.parquet").exists()


def test_a_representation_of_another_version_is_refused(shared, tmp_path):
    later = edited(shared / "representation", tmp_path / "later", format=5)
    out = ["--out", tmp_path / "out.parquet"]
    assert "format 5, this version reads 4" in refused(
        "encode", shared / "one.jsonl", "--representation", later, *out
    )


def test_an_edited_manifest_is_refused(shared, tmp_path):
    other = edited(shared / "representation", tmp_path / "other")
    path = other / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"seal": "', '"seal": "0'), encoding="utf-8")
    out = ["--out", tmp_path / "out.parquet"]
    made = ["--representation", other]
    assert "damaged or altered" in refused("encode", shared / "one.jsonl", *made, *out)


def test_an_altered_representation_is_refused(shared, tmp_path):
    other = edited(shared / "representation", tmp_path / "other")
    (other / "words.txt").write_text("other\n", encoding="utf-8")
    made = ["--representation", other]
    assert "words.txt: altered" in refused("encode", shared / "one.jsonl", *made, "--out", tmp_path / "o")


@pytest.mark.parametrize("content", [b"", b"PAR1 no table PAR1", b"id,text\n"])
def test_what_is_no_parquet_file_is_refused(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    assert "Parquet" in refused("pool", tmp_path / "x.parquet", "--out", tmp_path / "out.parquet")


def test_a_file_is_not_overwritten_without_being_told(shared):
    one = shared / "one.parquet"
    made = ["--representation", shared / "representation"]
    assert "--force" in refused("encode", shared / "one.jsonl", *made, "--out", one)
    assert "given twice" in refused("pool", one, one, "--out", shared / "new.parquet")
    assert "--force" in refused(*pseudonymise(shared, shared / "two.jsonl", one))


def test_what_is_read_is_never_overwritten(shared, tmp_path):
    corpus, part = tmp_path / "corpus.jsonl", tmp_path / "part.parquet"
    shutil.copy(shared / "one.jsonl", corpus)
    shutil.copy(shared / "one.parquet", part)
    made = ["--representation", shared / "representation", "--force"]
    assert "is the input" in refused("encode", corpus, "--out", corpus, *made)
    assert "is the input" in refused(*pseudonymise(shared, corpus, corpus, "--force"))
    assert "is the input" in refused(*pseudonymise(shared, tmp_path, corpus, "--force"))
    assert "is the input" in refused(*pseudonymise(shared, corpus, shared / "vectors.npz", "--force"))
    manifest = shared / "representation" / "manifest.json"
    assert "is the input" in refused("encode", corpus, "--out", manifest, *made)
    assert "is the input" in refused("pool", part, shared / "two.parquet", "--out", part, "--force")
    assert corpus.read_bytes() == (shared / "one.jsonl").read_bytes()
    assert part.read_bytes() == (shared / "one.parquet").read_bytes()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[representation]\nneighbours = 1", "neighbours: expected `int` >= 2"),
        ("[representation]\ndim = 5", "dim: expected `int` that's a multiple of 2"),
        ('[representation]\nprocedure = "magic"', "reversal, three-phase"),
        ("[tagger]\ncolour = 1", "tagger has no setting 'colour'"),
        ("[learning]\nepochs = 0", "epochs: expected `int` >= 1"),
        ("tagger = 3", "tagger: expected `object`"),
        ("[other]", "no setting 'other'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(tmp_path, line, expected):
    (tmp_path / "bad.toml").write_text(line, encoding="utf-8")
    corpus = write_corpus(tmp_path / "c.jsonl", tiny.documents(2))
    assert expected in refused("init", corpus, "--out", tmp_path / "o", "--config", tmp_path / "bad.toml")
