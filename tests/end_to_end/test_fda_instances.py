"""The ten FDA test instances through the command, if `FDA_INSTANCES_DIR` is their folder (docs/icsr.md)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from case_maskers import masker_of
from fake_maskers import keep_all
from icsr_trees import canonical, only_case
from lxml import etree

from inverse_deid.formats.icsr.standard.dialects import remove_keeping_tail
from inverse_deid.formats.icsr.standard.elements import ElementKind, elements, nodes_at
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile, builtin_profile

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "icsr" / "fda"
FILES = sorted(Path(os.environ.get("FDA_INSTANCES_DIR", BESIDE)).glob("*.xml"))

pytestmark = pytest.mark.skipif(not FILES, reason="the FDA test instances are not there")


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def file(request) -> Path:
    return request.param


@pytest.fixture
def masked(command, fake_assemble, out):
    fake_assemble[0] = masker_of()

    def run(file: Path, profile: object) -> bytes:
        result = command("mask", file, "--out", out, "--profile", profile)
        assert result.status == 0, result.stderr
        return (out / file.name).read_bytes()

    return run


def test_keeping_everything_gives_an_equal_file(masked, fake_assemble, file, tmp_path):
    fake_assemble[0] = keep_all()
    profile = tmp_path / "mine.toml"
    settings = dict.fromkeys(("otherwise", "attachments", "display_names", "other_dates"), "keep")
    profile.write_text("".join(f'{name} = "{value}"\n' for name, value in settings.items()))
    assert canonical(masked(file, profile)) == canonical(file.read_bytes())


@pytest.mark.parametrize("name", ["eudravigilance", "fda", "third-party", "public"])
def test_only_the_targeted_nodes_differ(masked, file, name):
    before, after = file.read_bytes(), masked(file, name)
    assert before != after
    profile = builtin_profile(name)
    known = {value.value for value in only_case(before).known_values}
    pairs = list(zip(untargeted(before, profile), untargeted(after, profile), strict=True))
    for (tag, text, attributes), (tag_after, text_after, attributes_after) in pairs:
        assert (tag, attributes) == (tag_after, attributes_after)
        assert text == text_after or only_known_words_differ(text, text_after, known)


def only_known_words_differ(text: str, masked: str, known: set[str]) -> bool:
    """Whether what was masked is in a name or number of the case, in any case of letters and with its `s`."""
    pattern = "(.+)".join(map(re.escape, masked.split("PHI")))
    hidden = re.fullmatch(pattern, text, re.DOTALL)
    values = "\n".join(known).lower()
    return hidden is not None and all(one.lower().removesuffix("s") in values for one in hidden.groups())


@pytest.mark.parametrize("name", ["eudravigilance", "third-party", "public"])
def test_an_independent_reader_reads_both(masked, file, name):
    e2br3 = pytest.importorskip("e2br3")
    before, after = (e2br3.parse(data).model_dump() for data in (file.read_bytes(), masked(file, name)))
    assert len(before["messages"]) == len(after["messages"])


def untargeted(data: bytes, profile: Profile) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """A case without everything that the profile names."""
    case = only_case(data).node
    gone = [
        node
        for element in elements().values()
        if not element.batch
        for node in targets(element, profile, case)
    ]
    for node in gone:
        remove_keeping_tail(node)
    if profile.display_names == FieldAction.DROP:
        for node in case.iter():
            node.attrib.pop("displayName", None)
            node.attrib.pop("codeSystemName", None)
    return [(n.tag, (n.text or "").strip(), sorted(n.attrib.items())) for n in case.iter()]


def targets(element, profile: Profile, case: etree._Element) -> list[etree._Element]:
    action = profile.actions[element.id]
    is_dropped = element.kind == ElementKind.ATTACHMENT and profile.attachments == FieldAction.DROP
    if action in (FieldAction.KEEP, FieldAction.TEXT) and not is_dropped:
        return []
    found = element.places["r3"].nodes(case) if "r3" in element.places else []
    return [(nodes_at(element.whole, node) if element.whole is not None else [node])[0] for node in found]
