"""The systems that the masker is compared with, and the comparison.

`systems` says what a system is and names all of them. `word_lists`, `linear`, `bilstm`, `presidio` and
`packaged` contain them. `comparison` runs and measures, `tables` shows, `folder` writes. Masks, tables and
reports contain offsets and numbers only.
"""
