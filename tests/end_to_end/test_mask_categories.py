"""`--categories` with the packaged model: what is kept, what stays masked, and what is refused."""

import json
import pickle
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from gold_files import write_json_lines
from refusals import refuses

from inverse_deid.choices.categories import CLASS_OF, parse_categories
from inverse_deid.cli.main import main
from inverse_deid.cli.masking.settings import CaseMaskerMaker, MaskOptions
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF, PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.training.corpus import read_annotated

LETTERS = Path(__file__).parents[2] / "narratives" / "letters-dev.jsonl"

TEXT = (
    "Ms. Amara Okonkwo, a 43-year-old teacher of Punjabi origin, was seen on 12 March 2019. DOB 3 May 2011. "
    "Her father, aged 94, and her mother, aged ninety-four, are well. On Monday in June she had a rash. "
    "Call 01632 960983. She is a Catholic who speaks Urdu."
)


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def case(given):
    path = given / "case.jsonl"
    path.write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    return path


def masked(case, out, *options):
    result = run("mask", case, "--out", out, "-q", *options)
    assert result.exit_code == 0, result.output
    return json.loads((out / case.name).read_text())["text"]


@pytest.mark.parametrize(
    ("categories", "kept", "hidden"),
    [
        ("all", [], ["teacher", "43", "March", "Monday"]),
        ("all,-profession", ["teacher"], ["43", "March"]),
        ("all,-age", ["43-year-old"], ["teacher", "94", "ninety", "four", "March"]),
        ("all,-date", ["12 March 2019", "Monday in June"], ["3 May", "2011", "teacher", "43"]),
        ("hipaa", ["teacher", "43-year-old"], ["94", "four", "March", "2011"]),
        ("all,-contact", ["01632 960983"], ["teacher", "March"]),
        ("i2b2", [], ["teacher", "43"]),
        ("everything", [], ["teacher", "Punjabi", "Catholic", "Urdu"]),
        ("hipaa,origin", ["teacher"], ["Punjabi", "Catholic", "Urdu"]),
    ],
)
def test_kept_categories_leave_and_the_rest_is_masked(case, out, categories, kept, hidden):
    text = masked(case, out, "--categories", categories)
    assert [word for word in kept if word not in text] == []
    assert [word for word in hidden if word in text] == []


YEARS = "Diagnosed with asthma in 2015. DOB 3 May 1961. Born in 1961. A fall in 1931. Seen on 12 March 2019."


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (("--categories", "hipaa"), ["2015"]),
        (("--categories", "hipaa,origin"), ["2015"]),
        (("--categories", "hipaa", "--operating-point", "strict"), ["2015"]),
        (("--categories", "hipaa", "--dates", "relative-day"), []),
        (("--categories", "hipaa,age"), []),
        (("--categories", "all"), []),
    ],
)
def test_a_year_alone_leaves_as_hipaa_permits(given, out, options, kept):
    path = given / "case.jsonl"
    path.write_text(json.dumps({"id": "a", "text": YEARS}) + "\n")
    text = masked(path, out, *options)
    assert [year for year in ("2015", "1961", "1931", "2019") if year in text] == kept
    assert not {"Amara", "Okonkwo"} & set(text.split())


@pytest.mark.parametrize(
    ("text", "categories", "hidden"),
    [
        ("See https://clinic.example/patients/ann-okoro/notes for it.", "all,-contact", ["ann", "okoro"]),
        ("Her page www.okoro-family.example has photos.", "all,-contact", ["okoro"]),
        ("Photos: linkedin.com/in/kaspar-lindqvist-md", "all,-contact", ["kaspar", "lindqvist"]),
        ("ref OKORO-4471 noted, rash gone", "all,-id", ["OKORO"]),
        ("On duty were Day and Weeks with April.", "all,-date", ["Day", "Weeks", "April"]),
        ("pt born 88, welder", "all,-age", ["88"]),
        ("house 12, aged 43", "all,-age", ["12"]),
    ],
)
def test_a_kept_category_shows_nothing_of_another(given, out, text, categories, hidden):
    path = given / "one.jsonl"
    path.write_text(json.dumps({"id": "a", "text": text}) + "\n")
    shown = masked(path, out, "--categories", categories)
    assert [word for word in hidden if word in shown] == []


MOST_LOST = 2


@pytest.fixture(scope="module")
def recalled_with_all():
    return recalled("all")


def recalled(categories):
    """Return how many tokens of each class are masked in the letters of the development set."""
    docs = list(read_annotated(LETTERS))
    masker = build_deidentifier(MaskingSettings(categories=parse_categories(categories)))
    counts = Counter()
    for doc, found in zip(docs, masker.mask_many([Document(d.id, d.text) for d in docs]), strict=True):
        starts, ends = found.tokens.starts, found.tokens.ends
        for span in doc.spans:
            hidden = (starts < span.end) & (ends > span.start) & ~found.decisions.keep
            counts[HYPER_CLASS_OF[span.type]] += int(hidden.sum())
    return counts


@pytest.mark.parametrize(
    "category",
    ["age", *(pytest.param(one, marks=pytest.mark.slow) for one in sorted(CLASS_OF.keys() - {"age"}))],
)
def test_keeping_one_category_costs_no_other_its_recall(recalled_with_all, category):
    chosen = recalled(f"all,-{category}")
    others = [one for one in CLASS_OF.values() if one is not CLASS_OF[category]]
    lost = {one: recalled_with_all[one] - chosen[one] for one in others}
    assert max(lost.values()) <= MOST_LOST, lost
    assert chosen[CLASS_OF[category]] < 0.5 * recalled_with_all[CLASS_OF[category]], "kept words are kept"


def test_the_default_is_all(case, out, tmp_path):
    assert masked(case, out) == masked(case, tmp_path / "again", "--categories", "all")
    plain, named = (MaskingSettings(), MaskingSettings(categories=parse_categories("i2b2")))
    assert build_deidentifier(plain).fingerprint == build_deidentifier(named).fingerprint


def test_other_categories_change_the_fingerprint_and_are_named_in_the_report(case, out, tmp_path):
    prints = {
        build_deidentifier(MaskingSettings(categories=parse_categories(text))).fingerprint
        for text in ("all", "hipaa", "all,-age", "all,origin")
    }
    assert len(prints) == 4
    masked(case, out, "--categories", "hipaa", "--run-report", tmp_path / "report.json")
    settings = json.loads((tmp_path / "report.json").read_text())["settings"]
    assert settings["categories"] == ["name", "place", "date", "contact", "id"]


def test_the_explanation_says_which_words_are_kept_for_their_category(case, out):
    masked(case, out, "--categories", "all,-profession", "--explain", "--with-text")
    (line,) = (out / "case.jsonl.explain.jsonl").read_text().splitlines()
    (token,) = [token for token in json.loads(line)["tokens"] if token["text"] == "teacher"]
    assert (token["decision"], token["reason"]) == ("keep", "KEPT_CATEGORY")
    assert token["p_safe"] < token["threshold"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--categories", "hippa"], "'hippa' is unknown"),
        (["--categories", "origin"], "at least one"),
        (["--categories", "all,-age", "--rules-only"], "--rules-only"),
        (
            ["--categories", "all,-age", "--ages", "keep-under-90"],
            "every age is kept, so nothing can replace it",
        ),
        (["--categories", "hipaa,-date", "--dates", "year"], "every date is kept, so nothing can replace it"),
    ],
)
def test_what_cannot_be_done_is_refused(case, out, options, message):
    result = run("mask", case, "--out", out, *options)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert not out.exists()


def test_kept_dates_and_bands_of_ages_go_together(case, out):
    options = ("--categories", "all,-date", "--ages", "band", "--age-bands", "10-years")
    text = masked(case, out, *options)
    assert "40-49-year-old" in text
    assert "12 March 2019" in text


def test_the_rules_alone_mask_words_of_origin(case, out):
    options = ("--categories", "all,origin", "--rules-only", "--explain", "--with-text")
    assert "Catholic" not in masked(case, out, *options)
    assert '"CHOSEN_CATEGORY"' in (out / "case.jsonl.explain.jsonl").read_text()
    assert "Catholic" in masked(case, out.with_name("plain"), "--rules-only")


def test_a_certificate_does_not_hold_for_kept_categories(tmp_path):
    settings = MaskingSettings(certificate=tmp_path / "c.json", categories=parse_categories("hipaa"))
    with refuses(ConfigurationError, match="Leave out --categories"):
        build_deidentifier(settings)


@pytest.mark.slow
def test_settings_travel_to_workers_and_machines(case, out, tmp_path):
    options = MaskOptions.read({"categories": "all,-age", "n_threads": 1})
    masking = options.choose(None).masking
    assert pickle.loads(pickle.dumps(masking)) == masking
    maker = pickle.loads(pickle.dumps(CaseMaskerMaker(options)))
    document = Document("a", TEXT)
    (elsewhere,) = maker(n_threads=1, device="cpu").mask_many([document])
    assert elsewhere.text == masked(case, out, "--categories", "all,-age", "--workers", "2")


def test_the_service_refuses_an_unknown_category_before_it_listens():
    result = run("serve", "--categories", "names")
    assert (result.exit_code, "'names' is unknown" in result.stderr) == (2, True)


def test_a_review_store_records_the_categories(case, tmp_path):
    store, key = tmp_path / "store.db", tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    result = run("review", "init", case, "--store", store, "--key", key, "--categories", "hipaa")
    assert result.exit_code == 0, result.output
    with open_store(str(store), ReviewKey(b"k" * 32)) as opened:
        assert opened.facts.categories == ("name", "place", "date", "contact", "id")


def test_evaluate_counts_only_what_was_to_be_masked(tmp_path, out):
    words = {"Okonkwo": PhiType.PATIENT, "43": PhiType.AGE, "94": PhiType.AGE, "teacher": PhiType.PROFESSION}
    spans = tuple(sorted(PhiSpan(TEXT.index(w), TEXT.index(w) + len(w), kind) for w, kind in words.items()))
    gold = write_json_lines(tmp_path / "gold.jsonl", [Document("a", TEXT, spans)])
    result = run("mask", gold, "--out", out, "-q", "--offsets", "--categories", "hipaa")
    assert result.exit_code == 0, result.output
    path, page = tmp_path / "figures.json", tmp_path / "page.html"
    result = run("evaluate", gold, out / gold.name, "--categories", "hipaa", "--json", path, "--html", page)
    assert result.exit_code == 0, result.output
    figures = json.loads(path.read_text())
    assert figures["figures"]["recall_all"] == {"part": 2, "whole": 2, "share": 1.0}
    assert figures["provenance"]["categories"] == "name, place, date, contact, id"
    assert "kept: 100" in result.stdout
    assert "name, place, date, contact, id" in page.read_text()
    path.unlink()
    run("evaluate", gold, out / gold.name, "--json", path)
    assert json.loads(path.read_text())["figures"]["recall_all"]["part"] == 2
    assert json.loads(path.read_text())["figures"]["recall_all"]["whole"] == 4
