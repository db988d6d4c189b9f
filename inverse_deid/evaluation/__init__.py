"""Measures of masking against gold documents.

`counts` counts each document, and `figures` derives every figure from the counts. `evaluation` adds
intervals from `uncertainty` and `resampling`. `report` and `page` show the results. `leaks` and
`grades` let people grade what leaked, `risk` estimates what leaks risk, and `utility` measures what
masking keeps. `guarantees` proves thresholds.
"""
