"""Write all texts that users read for translators: `python scripts/extract_messages.py OUT.pot`.

Copy it to `LANGUAGE.po`, translate that with any gettext editor, and compile it to
`inverse_deid/data/locale/LANGUAGE/LC_MESSAGES/inverse_deid.mo`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
from jinja2.ext import extract_from_ast

from inverse_deid.core.pages.template_texts import find_script_texts

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "inverse_deid"
_MARKS = ("_", "N_", "ngettext")
_HEAD = r"""msgid ""
msgstr ""
"Project-Id-Version: inverse-deid\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


class Message(NamedTuple):
    """A text, and that for several things ("" = it is not counted)."""

    text: str
    many: str = ""


def find_messages(package: Path = PACKAGE) -> dict[Message, list[str]]:
    """Return all texts, each with the places where it is, in the order of the files."""
    found: dict[Message, list[str]] = {}
    for path in sorted(package.rglob("*")):
        for message, line in _find_in_file(path):
            if message.text:
                found.setdefault(message, []).append(f"{path.relative_to(package.parent)}:{line}")
    # A text that is counted somewhere is one entry.
    counted = {one.text for one in found if one.many}
    return {one: places for one, places in found.items() if one.many or one.text not in counted}


def _find_in_file(path: Path) -> Iterator[tuple[Message, int]]:
    if path.suffix == ".py":
        yield from find_in_python(path.read_text("utf-8"))
    elif path.name.endswith((".html", ".html.j2")):
        tree = jinja2.Environment().parse(path.read_text("utf-8"))
        for line, _function, texts in extract_from_ast(tree, _MARKS, babel_style=False):
            # A keyword is a field, and is not a text.
            yield Message(*[one for one in texts if one is not None][:2]), line
    elif path.suffix == ".js":
        for one in find_script_texts(path.read_text("utf-8")):
            yield Message(*one), 1


def find_in_python(source: str) -> Iterator[tuple[Message, int]]:
    """Yield the texts of a module: those in calls, and the docstrings that are the help of commands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MARKS:
            wanted = node.args[: 2 if node.func.id == "ngettext" else 1]
            texts = [one.value for one in wanted if isinstance(one, ast.Constant)]
            if len(texts) == len(wanted) and all(isinstance(one, str) for one in texts):
                yield Message(*map(str, texts)), node.lineno
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and is_shown(node):
            yield Message(inspect.cleandoc(ast.get_docstring(node, clean=False) or "")), node.lineno


def is_shown(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Tell whether users read a docstring: the help of a command, or the description of a message."""
    if isinstance(node, ast.ClassDef):
        return any(isinstance(one, ast.Attribute) and one.attr == "Struct" for one in node.bases)
    calls = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Attribute) and one.attr in ("command", "group") for one in calls)


def write_template(messages: dict[Message, list[str]]) -> str:
    """Return a .pot file."""
    entries = []
    for message, places in messages.items():
        lines = [f"#: {place}" for place in places]
        lines += ["#, python-brace-format"] if "{" in message.text else []
        lines.append(f"msgid {_quote(message.text)}")
        if message.many:
            lines += [f"msgid_plural {_quote(message.many)}", 'msgstr[0] ""', 'msgstr[1] ""']
        else:
            lines.append('msgstr ""')
        entries.append("\n".join(lines) + "\n")
    return _HEAD + "\n".join(entries)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def main() -> None:
    """Write the template."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    messages = find_messages()
    parser.parse_args().out.write_text(write_template(messages), "utf-8")
    print(f"{len(messages)} texts", file=sys.stderr)


if __name__ == "__main__":
    main()
