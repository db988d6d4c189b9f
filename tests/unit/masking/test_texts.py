"""`inverse_deid.mask`: one text, many texts, a Series."""

import dataclasses
import io
import os
import pickle
import subprocess
import sys
import threading
import warnings
from datetime import date, datetime

import pandas as pd
import pytest
from case_maskers import masker_of, spans_by
from fake_maskers import BROKEN_STAGE, CANARY, mask_capitals

import inverse_deid
from inverse_deid import Document, MaskedText, MaskingSettings
from inverse_deid.choices.categories import PRESETS, Category
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.masking import texts
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.choices import choose_settings
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

KEY = b"sixteen bytes or more"
TODAY = date(2020, 2, 1)


class Builder:
    """Stands in for `build_deidentifier`, and counts."""

    def __init__(self, make=mask_capitals):
        self.make = make
        self.built = []

    def __call__(self, settings):
        self.built.append(settings)
        return self.make()


@pytest.fixture
def builder(monkeypatch):
    built = Builder()
    monkeypatch.setattr(texts, "build_deidentifier", built)
    texts._shared_masker.cache_clear()
    yield built
    texts._shared_masker.cache_clear()


@pytest.fixture
def dated(builder):
    """Masks dates such as 12-OCT-2019 and names after `Mr.`, and keeps all else."""
    spans = spans_by(DATE=r"(\d\d-OCT-\d{4})", NAME=r"Mr\. (\w+)")
    builder.make = lambda: masker_of(spans)
    return builder


def test_a_text_becomes_a_masked_text(builder):
    masked = inverse_deid.mask(f"the rash of {CANARY} was mild")
    assert masked == MaskedText("the rash of PHI was mild", ((12, 22),), ((12, 15),))
    assert str(masked) == f"{masked}" == masked.text


def test_a_masked_text_cannot_be_changed_and_can_be_pickled(builder):
    masked = inverse_deid.mask(f"the rash of {CANARY}")
    with pytest.raises(dataclasses.FrozenInstanceError):
        masked.text = "other"
    assert pickle.loads(pickle.dumps(masked)) == masked


def test_the_repr_shows_no_words(builder):
    assert repr(inverse_deid.mask(f"the rash of {CANARY}")) == "MaskedText(n_masks=1)"
    assert repr(MaskedText("PHI", ((0, 4),), ((0, 3),), failed=True)) == "MaskedText(n_masks=1, failed=True)"


def test_a_notebook_shows_the_first_masked_texts_of_a_list(builder):
    masked = inverse_deid.mask([f"<b>{CANARY} number {i} fell" for i in range(25)])
    assert isinstance(masked, list)
    assert masked == [MaskedText("<b>PHI number PHI fell", one.masks, one.replaced) for one in masked]
    shown = masked._repr_html_()
    assert shown.count("<mark>PHI</mark> number <mark>PHI</mark> fell") == 20
    assert "and 5 more of 25 texts" in shown
    assert CANARY not in shown + repr(masked)
    assert "more" not in inverse_deid.mask(["well"])._repr_html_()


def test_a_notebook_shows_the_masked_text_of_a_document(builder):
    masked = mask_capitals().mask_many([Document("1", f"the <b>rash of {CANARY}")])[0]
    shown = masked._repr_html_()
    assert "the &lt;b&gt;rash of <mark>PHI</mark>" in shown
    assert CANARY not in shown


def test_the_public_names_are_listed():
    assert {"mask", "MaskedText", "MaskingSettings", "Deidentifier", "Document"} <= set(dir(inverse_deid))
    assert "os" not in dir(inverse_deid)


def test_a_notebook_shows_the_masked_text_with_marks(builder):
    shown = inverse_deid.mask(f"a <b>rash</b> of {CANARY} & {CANARY}")._repr_html_()
    assert "a &lt;b&gt;rash&lt;/b&gt; of <mark>PHI</mark> &amp; <mark>PHI</mark>" in shown
    assert CANARY not in shown


@pytest.mark.parametrize("kind", [list, tuple, iter, pd.Index, pd.array])
def test_iterables_give_lists(builder, kind):
    masked = inverse_deid.mask(kind([f"{CANARY} had a rash", "", "no rash"]))
    assert [one.text for one in masked] == ["PHI had a rash", "", "no rash"]


def test_an_empty_list_gives_an_empty_list(builder):
    assert inverse_deid.mask([]) == []


@pytest.mark.parametrize("dtype", [object, "string", "str", "category"])
def test_a_series_keeps_index_name_and_missing_values(builder, dtype):
    series = pd.Series(
        [f"{CANARY} had a rash", None, float("nan"), "no rash"],
        index=["d", "c", "b", "a"],
        name="note",
        dtype=dtype,
    )
    masked = inverse_deid.mask(series)
    assert masked.index.equals(series.index)
    assert masked.name == "note"
    assert masked.isna().tolist() == [False, True, True, False]
    assert masked.dropna().tolist() == ["PHI had a rash", "no rash"]
    assert series.iloc[0] == f"{CANARY} had a rash"
    if dtype in ("string", "str"):
        assert masked.dtype == series.dtype


def test_missing_values_stay_as_they_are(builder):
    masked = inverse_deid.mask(pd.Series(["a", None, float("nan"), pd.NA], dtype=object))
    assert masked.iloc[1] is None
    assert masked.iloc[3] is pd.NA
    assert inverse_deid.mask(pd.Series([], dtype=object)).empty
    assert inverse_deid.mask(pd.Series([None, None], dtype=float)).isna().all()


def test_many_texts_keep_their_order_over_batches(builder, monkeypatch):
    monkeypatch.setattr(texts, "_BATCH_CHARS", 30)
    monkeypatch.setattr(texts, "_BATCH_CASES", 3)
    given = [f"row {'x' * (number * 7 % 40)} of {CANARY}" for number in range(50)]
    assert [one.text for one in inverse_deid.mask(given)] == [
        one.replace(CANARY, "PHI") for one in given
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "not of type int"),
        (None, "not of type NoneType"),
        (CANARY.encode(), "Decode them first"),
        ({"id": CANARY}, "not of type dict"),
        (["a", CANARY.encode()], "position 1 is of type bytes"),
        (["a", None], "position 1 is of type NoneType"),
        (
            pd.DataFrame({"id": ["1"], "narrative": [CANARY]}),
            r"mask\(table\[COLUMN\]\). It has id, narrative",
        ),
        (pd.Series(["a", None, 3], dtype=object), "position 2 is of type int"),
        (pd.Series([1, 2]), "position 0 is of type int"),
    ],
)
def test_other_inputs_are_refused(builder, given, message):
    with pytest.raises(TypeError, match=message) as caught:
        inverse_deid.mask(given)
    assert CANARY not in str(caught.value)
    assert not builder.built


def test_failed_texts_are_warned_of_by_their_position(builder):
    series = pd.Series([None, "a rash", f"{BROKEN_STAGE} of {CANARY}"], index=["x", "y", CANARY])
    with pytest.warns(UserWarning, match=r"1 of 2 texts could not be .* \(positions 2\)") as caught:
        masked = inverse_deid.mask(series)
    assert masked.iloc[2] == "PHI"
    assert CANARY not in str(caught[0].message)
    assert caught[0].filename == __file__


def test_the_flags_of_a_document_are_those_of_the_text(builder):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert inverse_deid.mask(BROKEN_STAGE).failed
    assert not inverse_deid.mask("a rash").failed


def test_a_deidentifier_is_built_once_per_settings(builder):
    for _ in range(2):
        inverse_deid.mask("a rash")
        inverse_deid.mask(["a rash"], MaskingSettings())
        inverse_deid.mask("a rash", operating_point="strict")
        inverse_deid.mask("a rash", MaskingSettings(operating_point="strict"), dates="year")
    assert builder.built == [MaskingSettings(), MaskingSettings(operating_point="strict")]


def test_few_deidentifiers_are_kept(builder):
    for number in range(texts.MAX_CACHED + 3):
        inverse_deid.mask("a rash", marker=f"M{number}")
    assert texts._shared_masker.cache_info().currsize == texts.MAX_CACHED


def test_a_model_that_changes_is_read_again(builder, tmp_path):
    file = tmp_path / "manifest.json"
    for content in ("1", "22"):
        file.write_text(content, encoding="utf-8")
        for _ in range(2):
            inverse_deid.mask("a rash", model=str(tmp_path))
    assert len(builder.built) == 2


def test_threads_share_a_deidentifier_and_use_it_one_after_the_other(builder):
    masker = mask_capitals(seconds_a_batch=0.01)
    n_inside, clashes, mask_many = [], [], masker.mask_many

    def watch(docs):
        n_inside.append(1)
        clashes.extend(n_inside[1:])
        try:
            return mask_many(docs)
        finally:
            n_inside.pop()

    masker.mask_many, builder.make = watch, lambda: masker
    done = []
    threads = [
        threading.Thread(target=lambda: done.append(inverse_deid.mask(f"a rash of {CANARY}").text))
        for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert done == ["a rash of PHI"] * 8
    assert len(builder.built) == 1
    assert not clashes


def test_an_interrupted_deidentifier_is_not_used_again(builder):
    class Interrupted:
        def mask_many(self, docs):
            raise KeyboardInterrupt

    builder.make = Interrupted
    with pytest.raises(KeyboardInterrupt):
        inverse_deid.mask("a rash")
    builder.make = mask_capitals
    assert inverse_deid.mask("a rash").text == "a rash"
    assert len(builder.built) == 2


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "is_shown"),
    [(Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False)],
)
def test_a_bar_counts_texts_on_a_terminal(builder, monkeypatch, stream, progress, is_shown):
    monkeypatch.setattr(texts, "_SECONDS_WITHOUT_BAR", 0)
    monkeypatch.setattr(sys, "stderr", stream)
    inverse_deid.mask([f"a rash of {CANARY}"] * 7, progress=progress)
    assert ("/7" in stream.getvalue()) is is_shown
    assert CANARY not in stream.getvalue()
    assert "rash" not in stream.getvalue()


def test_a_short_run_shows_no_bar(builder, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    inverse_deid.mask(["a rash"] * 7)
    assert stream.getvalue() == ""


def test_a_bar_is_shown_in_a_notebook(builder, monkeypatch):
    class Shell:
        kernel = object()

    class IPython:
        get_ipython = staticmethod(Shell)

    stream = io.StringIO()
    monkeypatch.setattr(texts, "_SECONDS_WITHOUT_BAR", 0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "IPython", IPython)
    inverse_deid.mask(["a rash"] * 7)
    assert "/7" in stream.getvalue()


def test_texts_of_one_case_share_their_first_day(dated):
    given = ["Rash on 14-OCT-2019.", "Dose on 12-OCT-2019.", "Fever on 20-OCT-2019."]
    apart = inverse_deid.mask(given, dates="relative-day", today=TODAY)
    assert all("Day 0" in one.text for one in apart)
    masked = inverse_deid.mask(given, dates="relative-day", today=TODAY, case_ids=[1, 1, "2"])
    assert masked[0].text.startswith("Rash on Day +2")
    assert masked[1].text.startswith("Dose on Day 0")
    assert masked[2].text.startswith("Fever on Day 0")


def test_a_shift_is_repeated_for_a_text_or_a_case_and_differs_between_them(dated):
    given = [f"Visit {'x' * number} on 12-OCT-2019." for number in range(5)]

    def days(masked):
        return [one.text.split(" on ")[1] for one in masked]

    def shift(texts, **choices):
        return days(inverse_deid.mask(texts, dates="shift", today=TODAY, **{"key": KEY} | choices))

    moved = shift(given)
    assert len(set(moved)) > 2
    assert "12-OCT-2019." not in moved
    assert shift(given[::-1]) == moved[::-1]
    assert shift(given, key=KEY + b"!") != moved
    assert shift(given, key=KEY.decode() + "\n") == moved
    assert len(set(shift(given, case_ids=["a"] * 5))) == 1
    assert shift(given[:1], case_ids=["a"]) == shift(given[1:2], case_ids=["a"])
    assert days([inverse_deid.mask(given[0], dates="shift", key=KEY, today=TODAY)]) == moved[:1]


def test_a_case_id_gives_what_the_command_line_gives(dated):
    text = "Mr. Okonkwo had a rash on 12-OCT-2019."
    cases = CaseMasker(dated.make(), CaseSettings(today=TODAY, dates=DateMode.SHIFT, key=KEY))
    expected = cases.mask_many([Document("case-1", text)])[0].text
    assert expected != text
    assert str(inverse_deid.mask(text, case_ids="case-1", dates="shift", key=KEY, today=TODAY)) == expected


def test_surrogates_replace_names(dated):
    pytest.importorskip("faker")
    given = ["Mr. Okonkwo had a rash.", "Mr. Okonkwo recovered.", "A rash."]
    masked = inverse_deid.mask(given, case_ids=list("aab"), replace="surrogate", key=KEY)
    first, second, other = (one.text for one in masked)
    assert "PHI" not in first
    assert "Okonkwo" not in first
    assert first.split()[1] == second.split()[1]
    assert other == "A rash."


@pytest.mark.parametrize(
    ("given", "case_ids", "message"),
    [
        (["a", "b"], ["1"], "1 ids for 2 texts"),
        (["a", "b"], "12", "list with one id per text"),
        (["a", "b"], 5, "list with one id per text"),
        (["a", "b"], ["1", None], "position 1"),
        (["a", "b"], ["1", " "], "position 1"),
        (["a", "b"], ["1", float("nan")], "position 1"),
        (pd.Series(["a", "b"]), pd.Series(["1", "2"], index=[1, 0]), "another index"),
    ],
)
def test_case_ids_that_do_not_fit_are_refused(builder, given, case_ids, message):
    with pytest.raises(ConfigurationError, match=message):
        inverse_deid.mask(given, case_ids=case_ids)


def test_a_missing_text_needs_no_case_id(builder):
    series = pd.Series(["a", None])
    assert inverse_deid.mask(series, case_ids=pd.Series(["1", None])).iloc[0] == "a"
    assert inverse_deid.mask("a rash", case_ids="case-1").text == "a rash"


def test_choices_become_settings(tmp_path):
    chosen = choose_settings(
        MaskingSettings(marker="XX", low=0.9),
        {
            "operating_point": "strict",
            "reading": "careful",
            "categories": "hipaa",
            "low": None,
            "deny": ["Mill Lane"],
            "allow": {"Graves"},
            "lexicon": str(tmp_path),
            "dates": "relative-day",
            "ages": "mask",
            "today": datetime(2020, 2, 1, 12),
            "replace": "surrogate",
            "key": KEY,
        },
        date(2021, 1, 1),
    )
    assert chosen.masking == MaskingSettings(
        marker="XX",
        operating_point="strict",
        reading="careful",
        categories=PRESETS["hipaa"],
        deny=frozenset({"Mill Lane"}),
        allow=frozenset({"Graves"}),
        lexicon=tmp_path,
    )
    assert chosen.cases == CaseSettings(today=TODAY, dates=DateMode.RELATIVE_DAY, ages=AgeMode.MASK, key=KEY)
    assert chosen.makes_surrogates


def test_categories_can_be_listed():
    chosen = choose_settings(None, {"categories": ["name", Category.DATE]}, TODAY)
    assert chosen.masking.categories == {Category.NAME, Category.DATE}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"operating_pont": "strict"}, "unknown setting 'operating_pont'. The settings are categories, operating_point"),
        ({"reading": "twice"}, "reading must be one of careful, fast"),
        ({"low": "0.9"}, "low must be a number"),
        ({"low": True}, "low must be a number"),
        ({"n_threads": 1.5}, "n_threads must be a whole number"),
        ({"n_threads": -1}, "n_threads must be a whole number, 0 or more"),
        ({"replace": "stars"}, "replace must be one of marker, category, surrogate"),
        ({"replace": "surrogate"}, "replace: surrogate needs a key of .* Give key"),
        ({"dates": "shift"}, "dates: shift needs a key of .* Give key"),
        ({"dates": "days"}, "dates must be one of mask, year, relative-day, shift"),
        ({"ages": "band"}, 'ages: band needs another choice. Add age_bands="10-years", '),
        ({"key": "short"}, "the key has 5 bytes"),
        ({"key": 5}, "key must be bytes, or a string"),
        ({"categories": "names"}, "^categories: 'names' is unknown"),
        ({"categories": ()}, "^categories: '' is unknown"),
        ({"categories": "hipaa", "ages": "keep-under-90"}, "categories: every age is kept, so nothing .* Leave out categories, or leave out ages"),
        ({"reading": "fast", "rules_only": True}, 'rules_only: decides without the network and its thresholds. Leave out reading="fast"'),
        ({"second_reader": "folder", "reading": "fast"}, 'second_reader: is asked only where words in doubt are read twice. Leave out reading="fast"'),
        ({"deny": "Okonkwo"}, "deny must be a list of strings"),
        ({"deny": ["..."]}, "deny has an entry that is not a word or phrase"),
        ({"allow": ["two words"]}, "allow has an entry that is not one word"),
        ({"today": "2020-02-01"}, "today must be a date"),
        ({"date_span_years": 40}, "^date_span_years must be a whole number, from 1 to 17"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(builder, choices, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        inverse_deid.mask(f"a rash of {CANARY}", **choices)
    assert "--" not in str(caught.value)
    assert CANARY not in str(caught.value)
    assert not builder.built


def test_settings_of_another_type_are_refused(builder):
    with pytest.raises(TypeError, match='operating_point="strict"'):
        inverse_deid.mask("a rash", "strict")


def test_errors_of_the_pipeline_name_keyword_arguments():
    with pytest.raises(ConfigurationError, match=r"rules alone do not .* Leave out rules_only"):
        inverse_deid.mask("a rash", rules_only=True, categories="hipaa")


def test_the_rules_alone_mask_a_text():
    assert inverse_deid.mask("The patient had a rash.", rules_only=True).text == "The patient had a rash."
    assert CANARY not in inverse_deid.mask(f"The patient was {CANARY}.", rules_only=True).text


def test_dir_shows_the_public_names():
    assert set(inverse_deid.__all__) <= set(dir(inverse_deid))
    assert {"mask", "MaskedText", "MaskingSettings", "__version__"} <= set(dir(inverse_deid))
    assert not [name for name in dir(inverse_deid) if name not in inverse_deid.__all__ and name[:2] != "__"]


def test_neither_importing_nor_masking_loads_more_than_it_needs():
    heavy = ("pandas", "onnxruntime", "tensorflow", "tqdm", "numpy")
    code = (
        "import sys, inverse_deid; dir(inverse_deid); "
        f"print([name for name in {heavy!r} if name in sys.modules]); "
        "inverse_deid.mask(['a rash'], rules_only=True); "
        "print([name for name in ('pandas', 'tensorflow', 'faker') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
        timeout=120,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
