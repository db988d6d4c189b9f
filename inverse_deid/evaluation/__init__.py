"""How well a masking did: what leaked, what was kept, counted a document.

`counts` owns every count, `figures` names the shares that derive from them,
`evaluation` runs over documents, `masked_files` reads what a masking wrote,
`report` prints. Nothing here shows narrative text.
"""
