"""No value shows narrative text in its `repr`, because a repr ends in logs and tracebacks."""

from private_reprs import list_classes, shows_text

import inverse_deid

NOT_NARRATIVE = {
    "inverse_deid.masking.kept.codes._CodeList",  # codes that are shipped
    "inverse_deid.rules.patterns.anchors.Anchor",  # words that are shipped
    "inverse_deid.evaluation.measures.counts.HarmlessTokens",  # a list that is shipped
    "inverse_deid.network.encoding.WordVectors",  # a vocabulary
    "inverse_deid.rules.origins._OriginsFile",  # a list that is shipped
    "inverse_deid.review.files.choices.ExamplePart",  # an example that is shipped
    "inverse_deid.choices.questions.Answer",  # words of pages
    "inverse_deid.choices.questions.Question",
    "inverse_deid.choices.records.Value",
    "inverse_deid.service.description.Answer",  # what openapi.json says
    "inverse_deid.service.description.Operation",
    "inverse_deid.service.description.Row",
}


def test_no_repr_shows_text():
    classes = list_classes(inverse_deid)
    assert len(classes) > 15
    assert not sorted(name for name in classes if name not in NOT_NARRATIVE and shows_text(classes[name]))
