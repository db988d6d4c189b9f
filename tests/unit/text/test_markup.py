"""HTML left in plain text: what it reads as, and what stays as it is written."""

import pytest

from inverse_deid.text.reading import read_text

SAFE = {
    "rash", "fever", "took", "patient", "palpitations", "days", "rose", "wood", "pain", "spo2", "don", "5mg", "naïve",
    "the", "after",
}  # fmt: skip
NAMES = {"rosewood", "whitfield"}


def read(text):
    is_safe = lambda word: word.lower() in SAFE  # noqa: E731
    reading = read_text(text, lambda word: is_safe(word) or word.lower() in NAMES, is_safe)
    return text if reading is None else reading.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("&gt;3 days &lt; 5&nbsp;&deg;C &amp; pain", ">3 days < 5 °C & pain"),
        ("&quot;rash&quot; &#8211; &#x27;fever&#x27;", "\"rash\" – 'fever'"),
        ("patient&#39;s rash, don&rsquo;t", "patient's rash, don’t"),
        ("&amp;gt;3, &amp;amp;nbsp;x", ">3,  x"),
        ("palpi&shy;tations &zwj;rash", "palpitations rash"),
        ("na&iuml;ve", "naïve"),
        ("<p>The <b>patient</b> took 5<i>mg</i>.</p>", "\nThe patient took 5mg.\n"),
        ("rash<br/>after<BR>Rash<br />", "rash after\nRash\n"),
        ("<td>Okonkwo</td><td>rash</td>", "\nOkonkwo\nrash\n"),
        ("palpi<b>tati</b>ons", "palpitations"),
        ("rash<b>fever</b>", "rash fever"),
        ("SpO<sub>2</sub>, 10<sup>9</sup>/L", "SpO2, 10e9/L"),
        ("<p class=\"MsoNormal\" style='color:#ff0000; margin:0 2px'>rash</p>", "\nrash\n"),
        ("&lt;br/&gt;Rash &lt;b&gt;fever&lt;/b&gt;", "\nRash fever"),
        ("<p>rash</p><p>fever</p>", "\nrash\nfever\n"),
    ],
)
def test_markup_reads_as_what_it_means(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<b>Mau</b>reen",
        "Tes<i>farmariam</i>.",
        "O&#39;Dwyer",
        "Ok&#111;nkwo",
        "Ok&shy;onkwo",
        "Rose<b>wood</b>",
        "Whit<br>field",
        '<span title="Okonkwo">Okonkwo</span>',
        '<b class="Okonkwo">Okonkwo</b>',
        "<!-- Okonkwo -->rash",
        "<okonkwo>",
        "N&amp;V",
        "H<sub>2</sub>O",
        "&#769; &nosuchname; &#99999999;",
    ],
)
def test_what_may_hide_a_name_stays(text):
    assert read(text) == text


@pytest.mark.parametrize(
    "unit", ["<", "&", "<b>", "&amp;", "<b ", "&lt;", "a<b>", "a\u00ad", '<p style="color:', "\u200b"]
)
def test_long_texts_cost_no_square(unit):
    text = unit * (60_000 // len(unit))
    assert len(read(text)) <= len(text)
