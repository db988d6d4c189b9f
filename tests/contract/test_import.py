"""Importing the package is cheap and loads nothing that only training, tables or servers need."""

import subprocess
import sys

import pytest

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
