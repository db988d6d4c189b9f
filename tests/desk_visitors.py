"""A desk without a browser: an empty store, its intake with a stand-in for the model, and its only user."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fake_maskers import FakeMasker, mask_capitals
from review_stores import KEY
from starlette.testclient import TestClient

from inverse_deid.desk import open_desk_store
from inverse_deid.masking.maskers import BuildMasker
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import UploadState, list_uploads
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.pages.door import Door, Place

PORT = 8018


class DeskVisitor:
    """A browser without scripts at a desk."""

    def __init__(self, folder: Path, build: BuildMasker) -> None:
        self.store, self.user = open_desk_store(Place(folder, folder / "elsewhere.key"), KEY)
        self.intake = IntakeService(self.store, build, lambda: date(2024, 1, 1))
        self.door = Door(
            self.store,
            self.user,
            KEY.derive("desk"),
            Place(folder, folder / "elsewhere.key"),
            PORT,
            tables=(),  # there is no connection
        )
        hosts = frozenset({"127.0.0.1"})
        application = make_application(self.store, hosts=hosts, intake=self.intake, door=self.door)
        self.client = TestClient(application, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
        self.token = ""

    def enter(self) -> Any:
        """Come in by a new one-time address."""
        answer = self.client.get(self.door.make_address())
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.client.get("/files").text)
        self.token = found.group(1) if found else ""
        return answer

    def add(self, name: str, data: bytes, **headers: str) -> Any:
        """Send a file as the page does."""
        given = {
            "X-CSRF-Token": self.token,
            "X-File-Name": quote(name),
            "Content-Type": "application/octet-stream",
        }
        return self.client.post("/add/file", content=data, headers={**given, **headers})

    def ask(self, address: str, **payload: object) -> Any:
        """Send a request as a script does."""
        return self.client.post(address, json=payload, headers={"X-CSRF-Token": self.token})

    def send(self, address: str, **fields: object) -> Any:
        """Send a form."""
        return self.client.post(address, data={"csrf_token": self.token, **fields})

    def choose(self, columns: Mapping[str, str] | None = None, **answers: str) -> Any:
        """Send the answers for all files that are ready."""
        files = [str(one.name_key) for one in list_uploads(self.store) if one.state is UploadState.READY]
        return self.send("/choices", file=files, **answers, **(columns or {}))

    def wait(self, *states: UploadState, seconds: float = 180.0) -> list[dict[str, Any]]:
        """Wait until every file is in one of these states; return what the page shows of them."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            files: list[dict[str, Any]] = self.client.get("/add/list").json()["files"]
            if all(one["state"] in states for one in files):
                return files
            time.sleep(0.02)
        raise AssertionError(f"the files are {[one['state'] for one in files]}")


@contextmanager
def desk_of(folder: Path, build: BuildMasker | None = None, *, starts: bool = True) -> Iterator[DeskVisitor]:
    """Open a desk in a folder, and come in."""
    visitor = DeskVisitor(folder, build or (lambda _settings: mask_capitals()))
    with visitor.store:
        if starts:
            visitor.intake.start()
        visitor.enter()
        try:
            yield visitor
        finally:
            visitor.intake.close()


__all__ = ["PORT", "DeskVisitor", "FakeMasker", "desk_of"]
