"""The systems that the masker is compared with, and the comparison.

`systems` says what a system is and `registry` names them; each has a module of its own.
`training_documents` keeps what is trained on apart from what is tested on, `comparison`
runs and measures, `comparison_tables` and `tables` show, `comparison_folder` writes.
Masks, tables and reports hold offsets and numbers only.
"""
