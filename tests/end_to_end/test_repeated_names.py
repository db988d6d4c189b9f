"""A word that is a name in one place of a case is masked in all its places, with the packaged model."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import inverse_deid
from inverse_deid.cli.main import main
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.training.corpus import read_annotated

LETTERS = Path(__file__).parents[2] / "narratives" / "letters-dev.jsonl"


@pytest.fixture(scope="module", params=["balanced", "strict"])
def masker(request):
    return build_deidentifier(MaskingSettings(operating_point=request.param))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (
            "Ivy and Brook had the tea. Ivy was well, but Brook came out in hives. Brook rang Ivy.",
            ["Ivy", "Brook"],
        ),
        ("Mrs Bloom fell. Blooms husband called. advised bloom to rest. d/w bloom again", ["Bloom", "bloom"]),
        ("Mr Przybylski had hives. Later Pryzbylski was well, and przybilski left.", ["ybyls", "ybils"]),
        ("Mrs Rice had hives. Rices husband called. d/w rice again", ["Rice", "rice"]),
        ("Dear Frost\nThe scan was normal.\n\n> has Frost rung?\n> Hazel", ["Frost", "Hazel"]),
        ("The rash has gone.\n\nYours,\nB. Reed\nL. Stone (covering)\ncc Reed, Stone", ["Reed", "Stone"]),
        ("Hazel: any rash?\nReed: a little\nHazel: since when?\nReed: since noon", ["Hazel", "Reed"]),
        ("art: any rash?\nfield: a little\nart: since when?\nfield: since noon", ["art", "field"]),
        ("<art> any rash?\n<field> a little\n[14:02] art: since when?", ["<art", "field", "art:"]),
        ("Page: any rash?\nReed: a little\nPage: since when?\nI told page so.", ["Page", "Reed", "page"]),
        ("14:02 Hazel: any rash?\n14:03 Reed: a little\n14:05 Hazel: where?", ["Hazel", "Reed"]),
        (
            "3/4/2019, 14:02 - Hazel: any rash?\n3/4/2019, 14:03 - Reed: yes\n3/4/2019, 14:05 - Hazel: oh",
            ["Reed"],
        ),
        ("K: any rash?\nN: a little\nK: where?\nN: 2 on the arm\nThen K told N to wait.", ["K", "N"]),
        ("KW: any rash?\nNR: a little\nKW: where?\nThe nurse saw NR.", ["KW", "NR"]),
    ],
)
def test_all_mentions_are_masked(masker, text, hidden):
    masked = masker.mask(Document("1", text)).text
    words = masked.replace("\n", " ").split()
    assert [one for one in hidden if (one in masked if len(one) > 2 else one in "".join(words))] == []


@pytest.mark.parametrize(
    "text",
    [
        "BP: 120/80\nPulse: 80\nBP: 130/90\nPulse: 82",
        "T: 37.4\nR: 18\nT: 38.0\nR: 20",
        "Q: any rash?\nA: yes\nQ: any fever?\nA: no",
        "S: well\nO: rash\nA: allergy\nP: stop\nS: worse\nO: rash",
        "Patient: it itches\nNurse: since when?\nPatient: since the second dose",
        "Drug: aspirin\nOutcome: recovered\nDrug: ibuprofen\nOutcome: unknown",
    ],
)
def test_the_labels_of_a_form_are_not_speakers(masker, text):
    masked = masker.mask(Document("1", text)).text
    labels = [line.split(":")[0] for line in text.splitlines()]
    assert [line.split(":")[0] for line in masked.splitlines()] == labels


def test_the_texts_of_a_case_share_their_names():
    texts = ["The rash is gone. Reading felt fine.", "Mrs Reading has a rash."]
    apart = [one.text for one in inverse_deid.mask(texts, progress=False)]
    together = [one.text for one in inverse_deid.mask(texts, case_ids=["a", "a"], progress=False)]
    assert "Reading" in apart[0], "the text alone does not show that this is a name"
    assert together == ["The rash is gone. PHI felt fine.", "Mrs PHI has a rash."]


def test_the_columns_of_a_table_share_their_names(given, out):
    path = given / "table.csv"
    path.write_text("id,text,note\nA,The rash is gone. Reading felt fine.,Mrs Reading has a rash.\n")
    options = ("--text-column", "text", "--text-column", "note", "--keep-column", "id")
    result = CliRunner().invoke(main, ["mask", str(path), "--out", str(out), "-q", *options])
    assert result.exit_code == 0, result.output
    assert "Reading" not in (out / "table.csv").read_text()


def test_names_that_are_repeated_cost_few_other_words():
    """The development set has forms and lists, and few conversations. 0.216 of the masked tokens are needless."""
    masker = build_deidentifier(MaskingSettings())
    docs = list(read_annotated(LETTERS))
    n_needless = n_masked = 0
    for doc, found in zip(docs, masker.mask_many([Document(d.id, d.text) for d in docs]), strict=True):
        hidden = {offset for span in doc.spans for offset in range(span.start, span.end)}
        for i in range(len(found.tokens)):
            if not found.decisions.keep[i]:
                n_masked += 1
                n_needless += hidden.isdisjoint(range(found.tokens.starts[i], found.tokens.ends[i]))
    assert n_needless / n_masked < 0.219
