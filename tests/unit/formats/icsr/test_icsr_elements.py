import pytest
from icsr_messages import invent
from icsr_trees import only_case, parts_of

from inverse_deid.formats.icsr.standard.elements import ElementKind, elements, elements_in, path_words
from inverse_deid.formats.icsr.survey import Sort

DIALECTS = ["r3", "r2"]


def plain(value: str) -> str:
    for scheme in ("tel:", "fax:", "mailto:"):
        value = value.removeprefix(scheme)
    return value.strip()


def found_values(part) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for value in part.values:
        if value.element is not None:
            found.setdefault(value.element_id, []).append(plain(value.text))
    return {element: sorted(values) for element, values in found.items()}


def test_every_kind_has_its_elements():
    kinds = [element.kind for element in elements().values()]
    assert {kind: kinds.count(kind) for kind in ElementKind} == {
        ElementKind.FREE_TEXT: 31,
        ElementKind.IDENTIFIER: 62,
        ElementKind.DATE: 23,
        ElementKind.AGE: 5,
        ElementKind.ATTACHMENT: 2,
        ElementKind.PRODUCT: 5,
    }


@pytest.mark.parametrize(
    ("element", "r3", "r2", "msk", "required"),
    [
        ("H.1", 100_000, 20_000, False, True),
        ("D.7.2", 10_000, 10_000, True, False),
        ("E.i.1.1a", 250, 200, False, False),
        ("C.2.r.1.4", 60, 50, True, False),
        ("C.1.1", 100, 100, False, True),
        ("D.2.1", None, None, True, False),
    ],
)
def test_facts_of_an_element(element, r3, r2, msk, required):
    known = elements()[element]
    assert (known.max_length["r3"], known.max_length["r2"]) == (r3, r2)
    assert (known.msk, known.required) == (msk, required)


def test_no_free_text_may_be_masked_as_a_whole_but_the_medical_history():
    free = {e.id for e in elements().values() if e.kind == ElementKind.FREE_TEXT and e.msk}
    assert free == {"D.7.2"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_element_is_found_where_the_message_has_it(dialect):
    message = invent(dialect)
    case = only_case(message.data)
    expected = {element: sorted(map(plain, values)) for element, values in message.cases[0].items()}
    found = found_values(case)
    for element in ("C.1.6.1.r.2", "C.4.r.2") if dialect == "r3" else ():
        assert found.pop(element) == expected.pop(element)
    assert found == expected
    assert set(message.cases[0]) == {element.id for element in elements_in(dialect, batch=False)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_element_around_the_cases_is_found(dialect):
    message = invent(dialect)
    found = {}
    for part in parts_of(message.data):
        if not part.is_case:
            found.update(found_values(part))
    assert found == {element: sorted(values) for element, values in message.batch.items()}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_in_a_whole_message_is_without_a_name(dialect):
    unnamed = [
        value
        for part in parts_of(invent(dialect).data)
        for value in part.values
        if value.element is None and value.sort != Sort.DISPLAY
    ]
    assert unnamed == []


FIRST_OF_TWO_NAMES = {("r3", "C.2.r.1.2"), ("r3", "C.3.3.3")}
"""R3 tells given and middle name by their order only."""

OPTIONAL = [(d, e.id) for d in DIALECTS for e in elements_in(d, batch=False) if not e.required]


@pytest.mark.parametrize(
    ("dialect", "element"), [pair for pair in OPTIONAL if pair not in FIRST_OF_TWO_NAMES]
)
def test_an_element_that_is_not_there_is_not_found(dialect, element):
    case = only_case(invent(dialect, given={element: None}).data)
    assert element not in {value.element_id for value in case.values}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_value_belongs_to_two_elements(dialect):
    case = only_case(invent(dialect).data)
    assert elements_in(dialect, batch=False)
    for element in elements_in(dialect, batch=False):
        place = element.places[dialect]
        others = {
            (node, other.places[dialect].attribute)
            for other in elements_in(dialect, batch=False)
            if other.id != element.id
            for node in other.places[dialect].nodes(case.node)
        }
        assert not {(node, place.attribute) for node in place.nodes(case.node)} & others


def test_paths_show_names_of_the_table_only():
    assert {"investigationEvent", "narrativeincludeclinical", "extension"} <= path_words()
    assert "Okonkwo" not in path_words()
