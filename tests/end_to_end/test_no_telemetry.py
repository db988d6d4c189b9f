"""ONNX Runtime for Linux reports to its maker unless it is told not to before it is imported.

It makes a folder and opens a database for its reports as soon as it is imported: the tests look for them.
"""

import os
import subprocess
import sys

import pytest

LOOK = """
import os
found = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
print([path for path in found if "Microsoft" in path])
"""
MASK = """from inverse_deid.cli.main import main
try:
    main(["mask", "in.txt", *{}])
except SystemExit as end:
    assert not end.code
"""
BUILD = "from {} import build_deidentifier as build\nfrom inverse_deid import MaskingSettings\nbuild(MaskingSettings())"
ENTRIES = {
    "package": "import inverse_deid\ninverse_deid.mask('Mr. Okonkwo had a rash.')",
    "command": MASK.format(["--out", "out"]),
    "processes": MASK.format(["--out", "out", "--workers", "2"]),
    "desk": BUILD.format("inverse_deid.desk"),
    "review": BUILD.format("inverse_deid.review.pages.application"),
    "service": "import inverse_deid.service.app, inverse_deid.network.scorer",
    "pickled work of Ray": "import pickle\npickle.loads(b'cinverse_deid.network.scorer\\nopen_sessions\\n.')",
}


@pytest.mark.skipif(sys.platform != "linux", reason="ONNX Runtime for Linux")
@pytest.mark.parametrize(
    "entry", ["package", *(pytest.param(one, marks=pytest.mark.slow) for one in ENTRIES if one != "package")]
)
def test_no_entry_prepares_reports_to_the_maker_of_onnx_runtime(tmp_path, entry):
    lines = "".join(f"    {line}\n" for line in (ENTRIES[entry] + LOOK).splitlines())
    (tmp_path / "entry.py").write_text(f"if __name__ == '__main__':\n{lines}")
    (tmp_path / "in.txt").write_text("Mr. Okonkwo had a rash.")
    others = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    environment = {**others, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "entry.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert not list(tmp_path.rglob("*onnxruntime*"))
