"""Everything that a user reads goes through gettext.

In two ways: a language in which every text is marked shows what is not, and a scan of the source finds
literals where users read texts.
"""

from __future__ import annotations

import ast
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from desk_visitors import desk_of
from fake_maskers import mask_capitals
from pseudo_language import BEGIN, END, LANGUAGE, unmarked, write_catalogue
from review_stores import review, store_of, user
from review_visitors import visitor
from service_client import client_of

import inverse_deid
from inverse_deid.cli.main import main
from inverse_deid.core import errors, wording
from inverse_deid.core.pages.template_texts import find_script_texts
from inverse_deid.files import workers
from inverse_deid.formats.pdf import source as pdf_source
from inverse_deid.review.store.values import UserRole

PACKAGE = Path(inverse_deid.__file__).parent
ACCEPT = {"accept-language": LANGUAGE}
WORD = re.compile(r"[A-Za-z]{3,}")
SENTENCE = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("locale")
    write_catalogue(made)
    return made


@pytest.fixture
def locale(folder, monkeypatch):
    monkeypatch.setenv(wording.LOCALE_VARIABLE, str(folder))
    monkeypatch.setenv("LANGUAGE", LANGUAGE)
    renew_children()  # those of other tests do not know the folder
    yield folder
    renew_children()


def renew_children():
    """Let the next file be read by a process that is started for it."""
    idle = workers._idle_workers()
    for _number in range(workers.MAX_FILES_AT_ONCE):
        with workers.borrow_worker() as worker:
            worker.end()
        assert not idle.empty()
    pdf_source._reader().end()


# ---- what users are shown

SHOW_HELP = """
import click
from inverse_deid.cli.main import main
from inverse_deid.cli.parts.lazy_group import LazyGroup

def show(words):
    try:
        main([*words, "--help"])
    except SystemExit as end:
        assert not end.code, words

show([])
for name in LazyGroup.list_commands(main, click.Context(main)):
    show([name])
    command = LazyGroup.get_command(main, click.Context(main), name)
    if isinstance(command, click.Group):
        for one in command.list_commands(click.Context(command)):
            show([name, one])
            inner = command.get_command(click.Context(command), one)
            for last in inner.list_commands(click.Context(inner)) if isinstance(inner, click.Group) else ():
                show([name, one, last])
"""
OF_CLICK = re.compile(
    r"Usage: .*|Show the version and exit\.|Show this message and exit\.|(Options|Commands):"
    r"|^  research .*$|^ +inverse-deid .*$|\[(default|required)[^\]]*\]",
    re.MULTILINE,
)
"""Words of click itself, the help of a command that another package adds, and command lines."""


def test_help_of_every_command(folder):
    environment = {**os.environ, "LANGUAGE": LANGUAGE, wording.LOCALE_VARIABLE: str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") > 40
    # click cuts the lines of help of a list of commands.
    whole = re.sub(f"^  [a-z][a-z-]* +{BEGIN}[^{END}\n]*$", "", done.stdout, flags=re.MULTILINE)
    shown = unmarked(whole)
    assert SENTENCE.findall(OF_CLICK.sub("", shown)) == []


MASK = ("mask", "--out", "out")
REFUSED = {
    "no file": [*MASK, "missing.txt"],
    "unknown suffix": [*MASK, "notes.xyz"],
    "an empty folder": [*MASK, "empty"],
    "no column": [*MASK, "table.csv", "--text-column", "story"],
    "no text column": [*MASK, "lines.jsonl"],
    "broken JSON": [*MASK, "broken.jsonl"],
    "broken JSON file": [*MASK, "broken.json"],
    "broken XML": [*MASK, "broken.xml"],
    "broken Word": [*MASK, "broken.docx"],
    "broken Excel": [*MASK, "broken.xlsx"],
    "broken PDF": [*MASK, "broken.pdf"],
    "broken archive": [*MASK, "broken.zip"],
    "broken e-mail of Outlook": [*MASK, "broken.msg"],
    "broken RTF": [*MASK, "broken.rtf"],
    "broken gzip": [*MASK, "broken.txt.gz"],
    "broken Parquet": [*MASK, "broken.parquet"],
    "not UTF-8": [*MASK, "latin.txt", "--encoding", "utf-8"],
    "contradiction": [*MASK, "a.txt", "--rules-only", "--fast"],
    "a choice alone": [*MASK, "a.txt", "--age-bands", "e2b"],
    "no key": [*MASK, "a.txt", "--dates", "shift"],
    "unknown category": [*MASK, "a.txt", "--categories", "nothing"],
    "unknown model": [*MASK, "a.txt", "--model", "empty"],
    "unknown lexicon": [*MASK, "a.txt", "--lexicon", "a.txt"],
    "unknown profile": [*MASK, "a.txt", "--profile", "nobody"],
    "key open to others": [*MASK, "a.txt", "--dates", "shift", "--key", "a.txt"],
    "a word list with two words": [*MASK, "a.txt", "--allow", "words.txt"],
    "low thresholds": [*MASK, "a.txt", "--low", "0.01", "--high", "0.02"],
    "output is input": ["mask", "a.txt", "--out", "."],
    "a key that exists": ["key", "new", "a.txt"],
    "no gold": ["evaluate", "missing.jsonl", "lines.jsonl"],
    "broken gold": ["evaluate", "broken.jsonl", "lines.jsonl"],
    "no target": ["calibrate", "lines.jsonl", "--target-leak-rate", "2", "--out", "c.json"],
    "broken training": ["train", "--config", "a.txt", "--out", "model"],
    "no gold to train": ["train", "--gold", "empty", "--out", "model"],
    "broken map": ["reveal", "a.txt", "--map", "b.map", "--key", "key", "--out", "originals"],
    "no store": ["review", "verify", "--store", "missing.db"],
    "broken store": ["review", "verify", "--store", "broken.json"],
    "unknown permit": ["serve", "--permit", "nothing"],
    "open to all": ["serve", "--host", "0.0.0.0"],
    "no lexicon source": ["lexicon", "build", "--whodrug", "a.txt", "--out", "b"],
}
"""Command lines that are refused, in a folder made by `files`."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    texts = {
        "a.txt": "A woman had a rash.",
        "notes.xyz": "A woman had a rash.",
        "table.csv": "id,text\n1,A woman had a rash.\n",
        "lines.jsonl": '{"id": 1, "story": "A woman had a rash."}\n',
        "words.txt": "two words\n",
        **{f"broken.{one}": "{ broken" for one in ("jsonl", "json", "xml", "docx", "xlsx", "pdf", "zip")},
        **{f"broken.{one}": "{ broken" for one in ("msg", "rtf", "txt.gz", "parquet")},
        "b.map": "broken",
        "key": "0123456789abcdef0123456789abcdef",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes("ein Mädchen aß".encode("latin-1"))
    (tmp_path / "key").chmod(0o600)
    return tmp_path


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED.keys())
def test_errors_of_commands(words, files, locale, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    shown = "".join(capsys.readouterr())
    assert end.value.code
    assert BEGIN in shown
    assert SENTENCE.findall(OF_CLICK.sub("", unmarked(shown))) == []


def test_lines_of_a_run(files, locale, capsys):
    for more in (
        [],
        ["--force", "--verbose", "--explain", "--with-text", "--html", "page.html"],
    ):
        with pytest.raises(SystemExit):
            main([*MASK, "table.csv", "a.txt", "--rules-only", *more])
    shown = "".join(capsys.readouterr())
    assert shown.count(BEGIN) > 10
    assert SENTENCE.findall(unmarked(shown)) == []
    assert (
        list_words(
            Path("page.html").read_text("utf-8"), {"woman", "had", "rash", "PHI", "txt", "csv", "table"}
        )
        == []
    )


GOLD = {
    "id": 1,
    "text": "Mr Okonkwo had a rash on 12 May 2020.",
    "spans": [{"start": 3, "end": 10, "type": "PATIENT"}, {"start": 25, "end": 36, "type": "DATE"}],
}


def test_lines_and_page_of_an_evaluation(files, locale, capsys):
    Path("gold.jsonl").write_text(json.dumps(GOLD) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([*MASK, "gold.jsonl", "--rules-only", "--offsets"])
    for more in ([], ["--html", "report.html"]):
        with pytest.raises(SystemExit) as end:
            main(["evaluate", "gold.jsonl", "out/gold.jsonl", *more])
        assert not end.value.code
    shown = "".join(capsys.readouterr())
    assert shown.count(BEGIN) > 10
    assert SENTENCE.findall(unmarked(shown)) == []
    report = re.sub(r"[0-9a-f]{40,}", "", Path("report.html").read_text("utf-8"))
    data = set(re.findall(r"[A-Za-z]+", NAMED))
    assert list_words(report, data) == []


NAMED = """Clopper Pearson over clusters as resamples are alike cluster bootstrap percentiles SHA NAME PATIENT DATE
recall hipaa corrected all precision overlap safe kept entities masked documents without leak names short
of old years s gold jsonl out document Gold Masked Version Intervals by Confidence Files"""
"""Methods, types, names of the JSON report and harmless words, which are not translated."""


def list_words(page: str, data: set[str]) -> list[str]:
    """Return the words of a page that are not marked and not data."""
    page = re.sub(r"<(script|style)\b.*?</\1>|<!--.*?-->", " ", page, flags=re.DOTALL)
    labels = re.findall(r'(?:aria-label|title|placeholder|alt|data-label)="([^"]*)"', page)
    shown = [re.sub(r"<[^>]*>", " ", page), *labels]
    known = {"inverse", "deid", "UTC", "JSON", *data}
    return [word for one in shown for word in WORD.findall(unmarked(html.unescape(one))) if word not in known]


MONTHS = {"Jan", "Nov", "Dec"}
PEOPLE = {"ann", "bob", "dora", "command", "testclient"}
CASE = {"cases", "jsonl", "seen", "Okonkwo", "today", "then", "okonkwo", "left", "PHI"}
TEAM_PAGES = {
    UserRole.REVIEWER: [
        "/",
        "/cases/1",
        "/cases/1/print",
        "/summary",
        "/account",
        "/password",
        "/second-factor",
    ],
    UserRole.ADJUDICATOR: [
        *("/", "/files", "/sample", "/summary?agreement=1", "/cases/2/finished", "/cases/2/form"),
        *("/files/delete", "/nowhere", "/disputes/1", "/cases/99"),
    ],
    UserRole.ADMIN: [
        *("/", "/accounts", "/activity", "/files", "/files/delete?source=1"),
        *("/files/delete", "/files/delete?case=1", "/?state=new&show=mine"),
    ],
}


@pytest.fixture
def team(tmp_path, locale):
    with store_of(tmp_path, texts=["seen by Okonkwo today, then okonkwo left"] * 2, approvals=1) as store:
        review(store, user(store, "bob"), 2)
        yield store


@pytest.mark.parametrize("role", TEAM_PAGES)
def test_pages_of_a_team(role, team):
    ann = visitor(team, "ann", role)
    ann.client.headers.update(ACCEPT)
    for address in TEAM_PAGES[role]:
        page = ann.get(address)
        assert f'<html lang="{LANGUAGE}"' in page.text, address
        assert list_words(page.text, CASE | PEOPLE | MONTHS) == [], address


def test_the_trail_is_shown_around_its_entries(team):
    dora = visitor(team, "dora", UserRole.ADMIN)
    dora.client.headers.update(ACCEPT)
    for address in ("/trail", "/trail?check=1"):
        # What an entry says is the record itself, which stays in English.
        page = re.sub(r"<tbody>.*</tbody>", " ", dora.get(address).text, flags=re.DOTALL)
        assert list_words(page, CASE | PEOPLE) == [], address


def test_log_in_and_its_errors(team):
    nobody = visitor(team, "ann")
    nobody.client.headers.update(ACCEPT)
    nobody.client.cookies.clear()
    form = {"name": "ann", "password": "wrong", "csrf_token": nobody.token_of("/log-in")}
    for page in (nobody.get("/log-in"), nobody.client.post("/log-in", data=form)):
        assert list_words(page.text, {"ann"}) == []


def test_answers_to_scripts(team):
    ann = visitor(team, "ann")
    ann.client.headers.update(ACCEPT)
    case = ann.ask("/cases/1/open").json()
    legend = case["legend"]
    said = [one[key] for one in legend["categories"] for key in ("title", "tag")]
    said += [*legend["reasons"], *(one["title"] for one in legend["groups"]), case["state"]]
    said += [ann.ask("/cases/1/undo", revision=case["revision"]).json()["error"]]
    said += [ann.ask("/cases/1/act", revision=99, kind="mask", ranges=[[0, 1]]).json()["error"]]
    assert [one for one in said if WORD.findall(unmarked(one))] == []


def test_pages_of_a_desk(tmp_path, locale):
    with desk_of(tmp_path) as desk:
        desk.client.headers.update(ACCEPT)
        desk.add("cases.csv", b"id,text,age\n1,seen by Okonkwo today,43\n")
        desk.add("broken.docx", b"broken")
        for address in ("/", "/add", "/choices", "/masking", "/files"):
            page = desk.client.get(address)
            data = CASE | {
                "csv",
                "text",
                "age",
                "broken",
                "docx",
                "comma",
                "utf",
                *EXAMPLE,
                *re.split(r"\W+", str(tmp_path)),
            }
            assert list_words(page.text, data | {"elsewhere", "key", *EXAMPLE}) == [], address
        told = desk.client.get("/add/list").json()["files"]
        assert [one["problem"] for one in told if SENTENCE.findall(unmarked(one["problem"]))] == []
        assert any(one["problem"] for one in told)


EXAMPLE = set(
    WORD.findall(
        (PACKAGE / "review/files/choices.py")
        .read_text("utf-8")
        .partition("EXAMPLE = (")[2]
        .partition(")\n")[0]
    )
)
"""The words of the invented narrative that the page of choices shows."""


def test_pages_and_answers_of_the_service(locale):
    with client_of(mask_capitals(), has_details=True) as client:
        page = client.get("/", headers=ACCEPT)
        assert f'<html lang="{LANGUAGE}"' in page.text
        assert list_words(re.sub(r"\.[a-z]+,? ?", " ", page.text), {"text"}) == []
        docs = re.sub(
            r"<(code|pre|script)\b.*?</\1>", " ", client.get("/docs", headers=ACCEPT).text, flags=re.DOTALL
        )
        assert re.findall("[A-Za-z]{2,} [a-z]{2,}", re.sub(r"<[^>]*>", "; ", unmarked(docs))) == []
        told = client.get("/openapi.json", headers=ACCEPT).json()
        assert list(find_unmarked_descriptions(told)) == []
        wrong = [
            client.post("/mask", content=b"{", headers={**ACCEPT, "content-type": "application/json"}),
            client.post("/mask", json={"id": 1}, headers=ACCEPT),
            client.post("/mask", json={"id": 1, "text": 2}, headers=ACCEPT),
            client.post("/mask", json={"id": 1, "text": "a", "settings": {"x": 1}}, headers=ACCEPT),
            client.post("/mask", json={"id": 1, "text": "a", "settings": {"dates": "year"}}, headers=ACCEPT),
            client.post("/mask", json={"id": 1, "text": "a", "settings": {"deny": 1}}, headers=ACCEPT),
            client.post("/mask", content=b"a", headers=ACCEPT),
            client.post("/mask-file", files={"file": ("a.docx", b"broken")}, headers=ACCEPT),
            client.post("/mask-file", files={"file": ("a.nothing", b"broken")}, headers=ACCEPT),
            client.get("/nowhere", headers=ACCEPT),
        ]
        said = [one.json()["error"] for one in wrong]
        assert [one for one in said if BEGIN not in one or SENTENCE.findall(unmarked(one))] == []
        body = {"id": 1, "text": "seen by Okonkwo", "details": "words"}
        english, other = (client.post("/mask", json=body, headers=one).json() for one in ({}, ACCEPT))
        assert BEGIN not in json.dumps(english, ensure_ascii=False)
        assert [one["why"] for one in other["words"] if SENTENCE.findall(unmarked(one["why"]))] == []
        assert english["text"] == other["text"]


def find_unmarked_descriptions(part):
    if isinstance(part, dict):
        for key, one in part.items():
            if key in ("description", "summary") and isinstance(one, str):
                if SENTENCE.findall(unmarked(one)):
                    yield one
            else:
                yield from find_unmarked_descriptions(one)
    elif isinstance(part, list):
        for one in part:
            yield from find_unmarked_descriptions(one)


# ---- what the source says

KINDS = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}
TEXT_ARGUMENTS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(KINDS - {"Exception"}, (0, "message")),
    **dict.fromkeys(("UsageError", "BadParameter", "ClickException"), (0, "message")),
    **dict.fromkeys(("echo", "say"), (0, "message")),
    **dict.fromkeys(("option", "argument"), ("help",)),
    **dict.fromkeys(("command", "group"), ("help", "short_help", "heading")),
    "Remedy": (2, "step"),
    "Value": (1, 2, 3, "label", "text", "note"),
    "Names": (0, 1),
    "Permit": (1,),
    "Excludes": (2,),
    "Choice": ("help", "usual", "value_help", "question"),
    "Meta": ("description",),
    "redirect": (1,),
    "report_problem": (2,),
    "render_log_in": (1,),
    "go_back": (1,),
    "fail": (1,),
    "Failure": (1,),
    "Section": (1, 2),
    "Record": ("problem",),
    "_problem": (1,),
    "_answer": (0,),
    "_get": (1, 2),
}
"""The arguments that users read, by the name of what is called: their place or keyword."""
NOT_TEXTS = {
    "engine/run_report.py",  # a report for programs
}
"""Files with such calls whose texts no user reads."""


def find_bare_texts(source: str) -> list[str]:
    """Return the literals of a module that users read and that do not go through gettext."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        places = TEXT_ARGUMENTS.get(name, ())
        given = [one for place, one in enumerate(node.args) if place in places]
        given += [one.value for one in node.keywords if one.arg in places]
        found += [
            f"{one.lineno}: {text}"
            for value in given
            for one in find_literals(value)
            if (text := words_of(one))
        ]
    return found


def find_literals(node: ast.expr):
    """Yield the strings of an expression, but not those inside of calls: of `_` and of what makes values."""
    if isinstance(node, ast.Constant | ast.JoinedStr):
        yield node
    elif isinstance(node, ast.BinOp | ast.IfExp | ast.BoolOp | ast.Tuple | ast.List):
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.expr) and one is not getattr(node, "test", None):
                yield from find_literals(one)


def words_of(node: ast.expr) -> str:
    """Return a literal with two words or more, "" = it is no such literal."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "{}".join(str(one.value) for one in parts if isinstance(one, ast.Constant))
    return (
        text
        if isinstance(text, str) and SENTENCE.search(text) and not text.startswith("inverse-deid ")
        else ""
    )


def test_no_literal_where_users_read_a_text():
    paths = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).as_posix() not in NOT_TEXTS
    ]
    found = {path.relative_to(PACKAGE).as_posix(): find_bare_texts(path.read_text("utf-8")) for path in paths}
    assert len(found) > 300
    assert {path: some for path, some in found.items() if some} == {}


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ('raise FormatError("has no text here")', 1),
        ('raise FormatError(f"{path} has no text")', 1),
        ('raise FormatError("has no text" if a else _("is empty today"))', 1),
        ('click.echo("all is well " + name)', 1),
        ('@click.option("--out", help="Where it is written.")\ndef f(): pass', 1),
        ('Remedy("out", step="choose another folder")', 1),
        ('raise FormatError(_("has no text here"))', 0),
        ('raise FormatError(_("{path} has no text", path=path))', 0),
        ('raise ValueError("of a programmer alone")', 0),
    ],
)
def test_the_scan_of_modules_finds_them(source, n):
    assert len(find_bare_texts(source)) == n


JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
TEMPLATES = [*sorted(PACKAGE.rglob("*.html")), *sorted(PACKAGE.rglob("*.html.j2"))]
UNTRANSLATED = {"inverse", "deid", "openapi", "json"}
"""Names, which are the same in all languages."""


def find_bare_words(template: str) -> list[str]:
    """Return the words of a template, and of its labels, that are no expression."""
    template = re.sub(r"<(script|style)\b.*?</\1>", " ", template, flags=re.DOTALL)
    template = re.sub(r"\{% block kind %\}.*?\{% endblock %\}", " ", template)  # a class
    plain = JINJA.sub(" ", template)
    labels = re.findall(r'(?<![\w-])(?:aria-label|title|placeholder|alt|data-label)="([^"]*)"', plain)
    shown = [re.sub(r"<[^>]*>", " ", plain), *labels]
    return [
        word
        for one in shown
        for word in re.findall(r"[A-Za-z]{2,}", html.unescape(one))
        if word not in UNTRANSLATED
    ]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_word_of_a_template_is_bare(path):
    assert find_bare_words(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("<p>Some text</p>", ["Some", "text"]),
        ('<p title="A label">{{ name }}</p>', ["label"]),
        ("<p>{% if a %}Yes{% endif %}</p>", ["Yes"]),
        ('<p class="some">{{ _("Some text") }}</p>', []),
    ],
)
def test_the_scan_of_templates_finds_them(template, words):
    assert find_bare_words(template) == words


SCRIPTS = sorted(PACKAGE.rglob("static/*.js"))
OF_SCRIPTS = re.compile(
    r"^(row end|input, textarea, button|details small|patient \?|use strict)$|^[gt][N$]|^(application|multipart)/|A 43-year-old|^Two hours later|^Mr\. Okonkwo"
)
"""Strings with spaces that are classes, types, or the invented narrative of the page of the service."""


def find_bare_strings(script: str) -> list[str]:
    """Return the strings of a script with two words or more that do not go through `_` or `ngettext`."""
    script = re.sub(r"^\s*//.*$", "", script, flags=re.MULTILINE)
    translated = {text for one in find_script_texts(script) for text in one}
    strings = [json.loads(one) for one in re.findall(r'"(?:[^"\\\n]|\\["\\nu0-9a-f])*"', script)]
    strings += [re.sub(r"\$\{[^{}]*\}", "{}", one) for one in re.findall(r"`([^`]*)`", script)]
    return [
        one
        for one in strings
        if SENTENCE.search(one) and one not in translated and not OF_SCRIPTS.search(one)
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_sentence_of_a_script_is_bare(path):
    assert find_bare_strings(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('say("no such word");', ["no such word"]),
        ("say(`${n} words selected`);", ["{} words selected"]),
        ('say(_("no such word"));', []),
        ('say(ngettext("{n} word here", "{n} words here", n));', []),
    ],
)
def test_the_scan_of_scripts_finds_them(script, found):
    assert find_bare_strings(script) == found


def test_marks_are_in_no_text():
    assert [path.name for path in PACKAGE.rglob("*.py") if {BEGIN, END} & set(path.read_text("utf-8"))] == []
