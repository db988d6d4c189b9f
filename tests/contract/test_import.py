"""Importing the package is cheap and loads nothing that only training, tables or servers need."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import inverse_deid

HEAVY = (
    "tensorflow",
    "keras",
    "onnx",
    "nltk",
    "pandas",
    "pyarrow",
    "ray",
    "starlette",
    "uvicorn",
    "flask",
    "faker",
    "sqlalchemy",
    "jinja2",
    "openpyxl",
    "pypdfium2",
    "reportlab",
    "olefile",
    "oxmsg",
    "charset_normalizer",
)
RARE = (
    "inverse_deid.formats.icsr.source",
    "inverse_deid.formats.docx.source",
    "inverse_deid.formats.xlsx.source",
    "inverse_deid.formats.pdf.source",
    "inverse_deid.formats.containers.archive",
    "inverse_deid.formats.containers.eml",
    "inverse_deid.formats.containers.outlook",
    "inverse_deid.engine.explained_page.page",
)
"""Modules of our own that only some runs need, and that would make every start slower."""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_importing_the_package_takes_under_300_ms():
    code = "import time; t = time.perf_counter(); import inverse_deid; print(time.perf_counter() - t)"
    assert min(float(run(code)) for _ in range(3)) < 0.3


@pytest.mark.parametrize("module", ["inverse_deid", "inverse_deid.cli.main", "inverse_deid.masking.assemble"])
def test_importing_loads_no_heavy_library(module):
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run(code) == "[]"


def run_command(*arguments):
    """Return the exit status of a command and the modules of HEAVY and RARE that it loaded."""
    return run(
        "import sys; from click.testing import CliRunner; from inverse_deid.cli.main import main; "
        f"r = CliRunner().invoke(main, {list(map(str, arguments))!r}); "
        f"print(r.exit_code, [name for name in {HEAVY + RARE!r} if name in sys.modules])"
    ).splitlines()[-1]


def test_masking_text_loads_no_heavy_library(tmp_path):
    source = tmp_path / "case.txt"
    source.write_text("The patient had a rash.", encoding="utf-8")
    assert run_command("mask", source, "--out", tmp_path / "out") == "0 []"


@pytest.mark.parametrize("arguments", [["--help"], ["mask", "--help"]])
def test_help_loads_no_heavy_library(arguments):
    assert run_command(*arguments) == "0 []"


def test_no_library_prepares_reports_to_its_maker(tmp_path):
    """ONNX Runtime of 2026 writes `.ses` into the temporary folder when it begins to collect events."""
    code = (
        f"import os; os.environ['TMPDIR'] = {str(tmp_path)!r}; import inverse_deid; "
        "print(inverse_deid.mask('Mr. Okonkwo had a rash.'), os.listdir(os.environ['TMPDIR']))"
    )
    assert run(code) == "Mr. PHI had a rash. []"


PUBLIC_FLOWER = ("flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.simulation")


def names_of_flower():
    """What the package imports from Flower, as `module` or `module.name`."""
    for path in Path(inverse_deid.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names if name.name.split(".")[0] == "flwr")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "flwr":
                yield from (f"{node.module}.{name.name}" for name in node.names)


def test_flower_is_used_through_its_public_modules_alone():
    found = set(names_of_flower())
    assert found
    assert {name for name in found if name.rpartition(".")[0] not in PUBLIC_FLOWER} == set()


def test_flower_says_itself_that_these_names_are_public():
    """Its source is read, since importing it takes long."""
    flower = importlib.util.find_spec("flwr")
    if flower is None:
        pytest.skip("Flower is not installed")
    for name in names_of_flower():
        module, _, attribute = name.rpartition(".")
        source = Path(flower.origin).parent / module.partition(".")[2] / "__init__.py"
        declared = source.read_text(encoding="utf-8").partition("__all__ = ")[2]
        assert attribute in ast.literal_eval(declared.partition("]")[0] + "]")
