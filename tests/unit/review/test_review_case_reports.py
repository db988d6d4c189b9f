"""Case safety reports through a review: several texts per case, only released cases are exported."""

import pytest
from case_maskers import masker_of
from icsr_messages import invent
from icsr_trees import cases_of
from review_stores import change, place, review, store_of, user

from inverse_deid.review.files.exporting import export_released, iterate_annotated
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.store.values import ActionKind, CaseState

CANARY = "Zebulonova"


@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_only_released_cases_are_in_the_exported_message(tmp_path, dialect):
    given = {"H.1": f"Dr {CANARY} met Okonkwo.", "C.2.r.1.4": CANARY}
    source = tmp_path / "a.xml"
    source.write_bytes(invent(dialect, 3, given=given).data)
    with store_of(tmp_path, inputs=[source], masker=masker_of(), approvals=1) as store:
        ann = user(store, "ann")
        at = place(store, ann, 1)

        view = view_case(store, ann, 1)
        assert len(view.parts) > 1 and view.tokens.words.count("Okonkwo") >= 1
        assert not view.layer.keep[view.tokens.words.index(CANARY)]
        at, _ = change(store, at, ActionKind.MASK, view.tokens.words.index("Okonkwo"), all_mentions=True)
        assert approve(store, at) is CaseState.RELEASED
        assert review(store, ann, 2) is CaseState.RELEASED
        exported = export_released(store, tmp_path / "out")
        assert (exported.n_cases, exported.n_left_out, exported.problems) == (2, 1, ())
        data = (tmp_path / "out" / "a.xml").read_bytes()
        narratives = [t.text for case in cases_of(data) for t in case.free_texts if t.element == "H.1"]
        assert narratives == ["Dr PHI met PHI.", "Dr PHI met Okonkwo."]
        assert CANARY.encode() not in data
        assert sum(CANARY in doc.text for doc in iterate_annotated(store, "export jsonl")) >= 2
