"""The ten FDA test instances, where they are (their text is not in this repository)."""

import csv
import re
from pathlib import Path

import pytest
from icsr_messages import ALL_KEEP
from icsr_trees import canonical, changed_elements, keep_texts, masked_file, only_case
from lxml import etree

from inverse_deid.formats.icsr.checks import check_case
from inverse_deid.formats.icsr.standard.elements import NAMESPACES, elements
from inverse_deid.formats.icsr.standard.profiles import (
    FieldAction,
    builtin_names,
    builtin_profile,
    profile_from,
)
from inverse_deid.formats.icsr.survey import Sort

FOLDER = Path(__file__).parents[5] / "shared" / "data" / "icsr"
FILES = sorted(FOLDER.glob("fda/*.xml"))

pytestmark = pytest.mark.skipif(not FILES, reason="the FDA test instances are not there")


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def data(request) -> bytes:
    return request.param.read_bytes()


def test_all_ten_are_there():
    assert len(FILES) == 10


def test_keeping_everything_gives_an_equal_file(data):
    written, report = masked_file(data, ALL_KEEP)
    assert canonical(written) == canonical(data)
    assert (report.n_cases, report.n_problems) == (1, 0)


def test_eudravigilance_touches_its_elements_only(data):
    case = only_case(data)
    profile = profile_from("mine", {"base": "eudravigilance", "attachments": "keep"})
    listed = {e for e, action in profile.actions.items() if action in (FieldAction.MASK, FieldAction.BLANK)}
    there = {value.element_id for value in case.values}
    assert changed_elements(case, case.rewrite(keep_texts(case), profile).node) == listed & there
    assert len(listed & there) >= 16


@pytest.mark.parametrize("name", builtin_names())
def test_every_profile_passes_the_rule_check(data, name):
    _, report = masked_file(data, builtin_profile(name), lambda case: ["PHI" for _ in case.free_texts])
    assert (report.n_cases, report.n_problems) == (1, 0)


def test_nothing_is_without_a_name_but_words_in_the_place_of_a_code(data):
    unnamed = [v for v in only_case(data).values if v.element is None and v.sort != Sort.DISPLAY]
    assert {value.slot for value in unnamed} <= {"displayName", "code"}
    codes = [value.text for value in unnamed if value.slot == "code"]
    assert codes in ([], ["83459001"])  # of SNOMED CT, where the instance says MedDRA


def test_the_check_finds_the_original():
    case = only_case(FILES[0].read_bytes())
    assert check_case(case, case.node, builtin_profile("public"), frozenset())


def as_xpath(path: str) -> str:
    """The third party's XPath from the case on, with the namespace, without its placeholders."""
    path = re.sub(r"^substring\((.*),\d\)$", r"\1", path)
    path = re.sub(r"^/MCCI_IN200100UV01.*?(/PORR_IN049016UV)?\[[rk]?\]/", "", path, count=1)
    path = path.split("PORR_IN049016UV[r]/")[-1].removesuffix("/text()")
    path = re.sub(r"\[[rki]\]|\[@root='UUID of [ik]-th \w+'\]", "", path)
    return re.sub(r"(?<![@:\w'])([A-Za-z]\w*)(?=[/\[\])]|$)", r"h:\1", path)


def test_our_xpaths_find_what_the_third_party_s_find():
    rows = list(csv.DictReader((FOLDER / "elements.csv").read_text(encoding="utf-8").splitlines()))
    spaces = {**NAMESPACES, "xsi": "http://www.w3.org/2001/XMLSchema-instance"}
    n_compared = 0
    for case in (only_case(file.read_bytes()) for file in FILES):
        for row in rows:
            if row["element"].startswith("N.1"):
                continue
            found = case.node.xpath(as_xpath(row["r3_xpath"]), namespaces=spaces)
            theirs = {x.getparent() if isinstance(x, str) else x for x in found}
            place = elements()[row["element"]].places["r3"]
            assert theirs <= set(place.nodes(case.node)), row["element"]
            n_compared += bool(theirs)
    assert n_compared > 500


def test_comments_name_the_elements_as_we_do(data):
    """The instances say in a comment behind most elements which one it is."""
    root = etree.fromstring(data, etree.XMLParser(huge_tree=False, no_network=True))
    case = root.find("h:PORR_IN049016UV", NAMESPACES)
    ours = {}
    for element in elements().values():
        place = element.places.get("r3")
        for node in place.nodes(case) if place and not element.batch else ():
            ours.setdefault(node, set()).add(element.id)
    n_named = 0
    for node, ids in ours.items():
        behind = node.getnext()
        while behind is not None and isinstance(behind, etree._Comment):
            said = re.match(r"[\s:]*((?:FDA\.)?[C-H](?:\.[ikr0-9][0-9ab]*)+)", behind.text or "")
            if said and said[1].rstrip(".") in elements():
                n_named += said[1].rstrip(".") in ids
            behind = behind.getnext()
    assert n_named >= 30
