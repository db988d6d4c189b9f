"""Count the modules of the package in which a function runs on the way of a narrative, a case and a request.

Usage: python scripts/count_modules.py [--list]

A narrative is masked by the command `mask`. A case goes over the desk: a file is added, its choices are
made, it is masked, read, changed and approved. A request is answered by the service. Everything runs with
the packaged model, from the start of the command or the first request to its end. Imports are not counted,
nor are functions that the standard library writes (of data classes, say).
`--list` names the modules.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from click.testing import CliRunner
from desk_visitors import desk_of
from service_client import ServiceClient

from inverse_deid.cli.main import main as command_line
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, load_parts
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.review.files.waiting import UploadState
from inverse_deid.service.settings import ServiceSettings

NARRATIVE = "Mr. Okonkwo, seen 3 May 2021, had a rash on day 2 of ibuprofen 400 mg."
LINE = f'{{"id": "1", "text": "{NARRATIVE}"}}\n'


@contextmanager
def counting() -> Iterator[set[str]]:
    """Yield the names of the modules in which a function runs meanwhile, in any thread that starts."""
    modules: set[str] = set()

    def note(frame: FrameType, event: str, _given: object) -> None:
        if (
            event == "call"
            and frame.f_code.co_name != "<module>"
            and "inverse_deid" in frame.f_code.co_filename
        ):
            modules.add(frame.f_globals.get("__name__", ""))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield modules
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type] # None ends it


def mask_a_narrative(folder: Path) -> None:
    """The command, from its arguments to the file that is complete."""
    (folder / "case.jsonl").write_text(LINE)
    given = ["mask", str(folder / "case.jsonl"), "--out", str(folder / "masked")]
    result = CliRunner().invoke(command_line, given)
    assert result.exit_code == 0, result.output


def take_a_case_over_the_desk(folder: Path) -> None:
    """From the added file to the approval."""
    with desk_of(folder, build_deidentifier) as desk:
        desk.add("case.txt", NARRATIVE.encode())
        desk.wait(UploadState.READY)
        desk.choose()
        desk.wait(UploadState.DONE)
        desk.client.get("/cases/1")
        shown = desk.ask("/cases/1/open").json()
        changed = desk.ask("/cases/1/act", kind="mask", ranges=[[9, 10]], revision=shown["revision"]).json()
        given = {"revision": changed["revision"], "seen": [[0, len(NARRATIVE)]]}
        approved = desk.ask("/cases/1/approve", **given)
        assert approved.json().get("state") == "released", approved.text


def answer_a_request(_folder: Path) -> None:
    """From the first request of a client to its answer; the model is loaded as the service starts."""
    parts = load_parts(MaskingSettings())
    with ServiceClient(
        None,
        ServiceSettings(),
        lambda chosen: CaseMasker(build_deidentifier(chosen.masking, parts), chosen.cases),
    ) as client:
        answer = client.post("/mask", json={"id": "1", "text": NARRATIVE})
        assert answer.status_code == 200, answer.text


WAYS: dict[str, Callable[[Path], None]] = {
    "narrative": mask_a_narrative,
    "case": take_a_case_over_the_desk,
    "request": answer_a_request,
}


def main() -> None:
    """Print the number of modules of each way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the modules")
    options = parser.parse_args()
    for name, way in WAYS.items():
        with tempfile.TemporaryDirectory() as folder, counting() as modules:
            way(Path(folder))
        own = sorted(module for module in modules if module.split(".")[0] == "inverse_deid")
        print(f"{name}: {len(own)} modules")
        if options.list:
            print(*(f"  {module}" for module in own), sep="\n")


if __name__ == "__main__":
    main()
