"""No value of the research shows narrative text in its `repr`."""

from private_reprs import list_classes, shows_text

import inverse_deid_research

NOT_NARRATIVE = {"inverse_deid_research.studies.report.Report"}  # figures


def test_no_repr_shows_text():
    classes = list_classes(inverse_deid_research)
    assert len(classes) >= 3
    assert {name for name in classes if shows_text(classes[name])} <= NOT_NARRATIVE
