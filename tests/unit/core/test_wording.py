"""Texts in the language of the context."""

import asyncio
import threading
from contextvars import copy_context

import pytest
from extract_messages import Message
from pseudo_language import LANGUAGE, mark, unmarked, write_catalogue

from inverse_deid.core import wording
from inverse_deid.core.errors import ConfigurationError, Remedy, add_remedies
from inverse_deid.core.pages import template_texts
from inverse_deid.core.wording import N_, _, current_language, find_catalogue, ngettext, speaking

MESSAGES = (
    Message("the file"),
    Message("{path} is empty"),
    Message("{n} file", "{n} files"),
    Message("use {}"),
    Message("{step} of {n}"),
)


@pytest.fixture
def locale(tmp_path, monkeypatch):
    monkeypatch.setenv(wording.LOCALE_VARIABLE, str(tmp_path))
    write_catalogue(tmp_path, MESSAGES)
    return tmp_path


class TestTexts:
    def test_without_a_catalogue_a_text_is_itself(self):
        assert _("{path} is {n:,} bytes", path="a", n=1000) == "a is 1,000 bytes"
        assert _("a {brace}") == "a {brace}"
        assert (ngettext("{n} file", "{n} files", 1, n=1), ngettext("{n} file", "{n} files", 0, n=0)) == (
            "1 file",
            "0 files",
        )

    def test_with_a_catalogue(self, locale):
        with speaking([LANGUAGE]):
            assert _("{path} is empty", path="a.txt") == "⟦a.txt is empty⟧"
            assert [ngettext("{n} file", "{n} files", n, n=n) for n in (1, 2, 3)] == [
                "⟦1 file⟧",
                "⟦2 files⟧",
                "⟦3 files⟧",
            ]
            assert current_language() == LANGUAGE
        assert current_language() == "en"

    def test_a_text_that_has_a_plural_elsewhere(self, locale):
        with speaking([LANGUAGE]):
            assert _("{n} file", n=7) == "⟦7 file⟧"

    def test_what_a_catalogue_lacks_is_english(self, locale):
        with speaking([LANGUAGE]):
            assert (_("another text"), _("")) == ("another text", "")
            assert ngettext("a mouse", "mice", 2) == "mice"

    @pytest.mark.parametrize("broken", ["{other}", "{", "{0}", "{path.nothing}", "{path:d}"])
    def test_a_translation_with_other_fields_is_not_used(self, broken, tmp_path, monkeypatch):
        monkeypatch.setenv(wording.LOCALE_VARIABLE, str(tmp_path))
        write_catalogue(tmp_path, MESSAGES, lambda _text: broken)
        with speaking([LANGUAGE]):
            assert _("{path} is empty", path="a.txt") == "a.txt is empty"

    def test_a_value_is_never_a_template(self, locale):
        with speaking([LANGUAGE]):
            assert _("{path} is empty", path="{n}") == "⟦{n} is empty⟧"


class TestErrors:
    def test_a_marked_message_and_its_remedies_are_translated(self, locale):
        late = N_("the file")
        with speaking([LANGUAGE]):
            error = ConfigurationError(late, remedies=[Remedy("force", step=N_("use {}"))])
            shown = add_remedies(str(error), error.remedies, lambda choice, _value: f"--{choice}")
        assert shown == "⟦the file⟧. ⟦use --force⟧"
        assert unmarked(shown) == ". "


class TestLanguages:
    def test_each_context_has_its_own(self, locale):
        seen = {}
        with speaking([LANGUAGE]):
            inside = copy_context()
            other = threading.Thread(target=lambda: seen.update(thread=_("the file")))
            other.start()
            other.join()
        assert inside.run(_, "the file") == "⟦the file⟧"
        assert (_("the file"), seen["thread"]) == ("the file", "the file")

    def test_tasks_of_one_server_do_not_share_it(self, locale):
        async def say(wanted):
            with speaking(wanted):
                await asyncio.sleep(0)
                return _("the file")

        async def both():
            return await asyncio.gather(say([LANGUAGE]), say(["en"]), say([LANGUAGE]))

        assert asyncio.run(both()) == ["⟦the file⟧", "the file", "⟦the file⟧"]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ([LANGUAGE], LANGUAGE),
            ([f"{LANGUAGE}_XX.UTF-8@euro"], LANGUAGE),
            ([f"{LANGUAGE.upper()}-xx"], LANGUAGE),
            (["xx", LANGUAGE], LANGUAGE),
            (["en-GB", LANGUAGE], None),
            (["C.UTF-8"], None),
            (["../../etc"], None),
            ([], None),
        ],
    )
    def test_first_that_has_a_catalogue(self, wanted, found, locale):
        catalogue = find_catalogue(wanted)
        assert (catalogue and catalogue.language) == found

    def test_a_header_of_any_length_is_read(self):
        assert wording.languages_accepted("de;q=x, fr;q=0.1;q=2," + "a," * 10_000)[0] == "de"


class TestTemplates:
    def test_fields_are_escaped_and_tags_of_the_text_are_not(self):
        shown = template_texts.TEMPLATE_TEXTS["_"]("<b>{name}</b> has {n:,}", name="<i>", n=1000)
        assert shown == "<b>&lt;i&gt;</b> has 1,000"

    def test_scripts_get_the_form_of_every_number(self, locale):
        texts = [("the file",), ("{n} file", "{n} files")]
        assert template_texts.translate_script_texts(texts) == {}
        with speaking([LANGUAGE]):
            given = template_texts.translate_script_texts(texts)
        forms, by_number = given["forms"]["{n} files"]
        assert given["texts"] == {"the file": "⟦the file⟧"}
        assert [forms[by_number[n]] for n in (1, 2, 150)] == ["⟦{n} file⟧", "⟦{n} files⟧", "⟦{n} files⟧"]
        assert len(by_number) == 200


def test_marks_leave_the_spaces_around_a_text():
    assert mark(" and {n} more ") == " ⟦and {n} more⟧ "
    assert unmarked("a ⟦b ⟦c⟧ d⟧ e") == "a  e"
