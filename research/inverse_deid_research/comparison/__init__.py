"""The comparison of the masker with other systems.

`systems` says what a system is and names all of them. `ready_systems` and `learning_systems` contain them.
`comparison` runs and measures, `report` writes. Masks, tables and reports contain offsets and numbers only.
"""
