"""Find prose that reads like a translation: in docs, docstrings, help, messages and pages.

    python scripts/check_prose.py [PATH...]

Without a path, everything is checked. Exit status 1 and a line per finding if anything is found. Patterns
hold everywhere. What readers see in a hurry (help, messages, pages) also has no semicolon, no sentence
over 25 words and no *he*. Code, inline code and quotations in Markdown are not prose.
"""

from __future__ import annotations

import ast
import html
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MOST_WORDS = 25

_TABLES = tomllib.loads((Path(__file__).parent / "prose_patterns.toml").read_text(encoding="utf-8"))
PATTERNS = {row["pattern"]: row["instead"] for row in _TABLES["everywhere"]}
HURRIED = {row["pattern"]: row["instead"] for row in _TABLES["hurried"]}


class Piece(NamedTuple):
    """A piece of prose.

    Args:
        path: The file.
        line: Its first line there.
        text: The prose.
        is_hurried: Help, a message or a page.
    """

    path: Path
    line: int
    text: str
    is_hurried: bool


def markdown(path: Path) -> Iterator[Piece]:
    block: list[str] = []
    start, is_code = 1, False
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        if is_fence or is_code or line.startswith(("    ", "<!--", ">")):
            line = ""  # noqa: PLW2901 - code and quotations end a block
        is_item = bool(re.match(r"\s*(?:[-*|#]|\d+\.)", line))
        if block and (not line.strip() or is_item):
            yield Piece(path, start, plain(" ".join(block)), is_hurried=False)
            block = []
        if line.strip():
            start = start if block else number
            block.append(line.strip())


def plain(text: str) -> str:
    text = re.sub(r"``.*?``|`[^`]*`", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"“[^”]*”|\"[^\"]*\"", "QUOTED", text).strip("|# -*")


def python(path: Path) -> Iterator[Piece]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                is_command = not isinstance(node, ast.Module) and any(
                    re.search(r"(?:command|group)\b", ast.unparse(one)) for one in node.decorator_list
                )
                yield from docstring(path, node.body[0].lineno, text, is_command=is_command)
        elif isinstance(node, ast.Call):
            for text, line in shown(node):
                yield Piece(path, line, plain(text), is_hurried=True)


def docstring(path: Path, line: int, text: str, *, is_command: bool) -> Iterator[Piece]:
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*\w+: )", text):
        rows = [row.strip() for row in paragraph.splitlines()]
        if any(row.startswith((">>>", "...", "::")) for row in rows) or rows[0].endswith("::"):
            continue
        yield Piece(path, line, plain(" ".join(rows)), is_command)


def shown(call: ast.Call) -> Iterator[tuple[str, int]]:
    """The texts of a call that people see: help, errors, lines of output."""
    name = ast.unparse(call.func).rpartition(".")[2]
    given = [word.value for word in call.keywords if word.arg in ("help", "short_help")]
    if name.endswith("Error") or name in ("echo", "fail", "say", "secho", "confirm", "problem"):
        given += call.args[:3]
    for value in given:
        text = constant(value)
        if text and " " in text.strip():
            yield text, value.lineno


def constant(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(constant(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return constant(node.left) + constant(node.right)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("_", "N_", "ngettext"):
        return re.sub(r"\{[^{}]*\}", "X", constant(node.args[0]))
    return ""


def page(path: Path) -> Iterator[Piece]:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|<(script|style).*?</\1>", blank, text, flags=re.S)
    text = re.sub(r"\{\{ (?:_|ngettext)\((\"[^\"]*\"|'[^']*').*?\}\}", translated, text, flags=re.S)
    text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.S)
    inline = r"</?(?:a|b|em|strong|kbd|span|code|mark|abbr|i)\b[^>]*>"
    text = re.sub(inline, "", text)
    line = 1
    for part in re.split(r"(<[^>]*>)", text):
        words = " ".join(html.unescape(part).split())
        if not part.startswith("<") and " " in words:
            yield Piece(path, line, plain(words), is_hurried=True)
        line += part.count("\n")


def translated(match: re.Match[str]) -> str:
    return re.sub(r"\{[^{}]*\}", "X", match[1][1:-1])


def blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def script(path: Path) -> Iterator[Piece]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0]
        for match in re.finditer(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`", code):
            text = next(filter(None, match.groups()), "")
            if text.count(" ") > 1 and re.search(r"[A-Za-z]{3} [a-z]{2}", text):
                yield Piece(path, number, re.sub(r"\$\{[^}]*\}", "X", text), is_hurried=True)


READERS = {".md": markdown, ".py": python, ".html": page, ".j2": page, ".js": script}


def faults(piece: Piece) -> Iterator[str]:
    for pattern, remedy in (PATTERNS | (HURRIED if piece.is_hurried else {})).items():
        for match in re.finditer(pattern, piece.text):
            yield f"{match[0].strip()!r}: {remedy}"
    if piece.is_hurried:
        for sentence in re.split(r"(?<=[.!?:]) +", piece.text):
            n_words = len(sentence.split())
            if n_words > MOST_WORDS:
                yield f"a sentence of {n_words} words: at most {MOST_WORDS}"


def unexplained_phi(path: Path) -> Iterator[str]:
    """PHI is spelled out where a document uses it first."""
    text = re.sub(r"```.*?```|`[^`]*`|^>.*?$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    first = re.search(r"\bPHI\b", text)
    if first and "protected health information" not in text[: first.end() + 40].lower():
        yield "'PHI': spell out protected health information where it is first used"


def checked_files(given: list[str]) -> Iterator[Path]:
    folders = [Path(one) for one in given] or [
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "docs",
            "inverse_deid",
            "research/README.md",
            "research/inverse_deid_research",
            "scripts",
        )
    ]
    for folder in folders:
        found = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        yield from (
            path for path in found if path.suffix in READERS and path.resolve() != Path(__file__).resolve()
        )


def main() -> int:
    n_found = 0
    for path in checked_files(sys.argv[1:]):
        try:
            name = path.resolve().relative_to(ROOT)
        except ValueError:
            name = path
        found = [(piece.line, fault) for piece in READERS[path.suffix](path) for fault in faults(piece)]
        if path.suffix == ".md" and path.name != "CHANGELOG.md":
            found += [(1, fault) for fault in unexplained_phi(path)]
        for line, fault in sorted(found):
            print(f"{name}:{line}: {fault}")
        n_found += len(found)
    print(f"{n_found} findings in the prose", file=sys.stderr)
    return min(n_found, 1)


if __name__ == "__main__":
    sys.exit(main())
