"""How well a masking did: what leaked, what was kept, counted a document.

`counts` owns every count, `figures` names the shares that derive from them,
`evaluation` runs over documents, `masked_files` reads what a masking wrote.
`uncertainty`, `resampling` and `paired_test` say how sure a figure is, `guarantees`
which threshold can be promised. `report`, `json_report` and `page` show figures and
no narrative text; `leaks` alone writes some, for reviewers.
"""
