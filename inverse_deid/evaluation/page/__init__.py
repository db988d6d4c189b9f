"""An evaluation as one HTML page that needs only a browser or a printer.

`page` fills the template with sections. `sections` shows the evaluation itself, `added` the reports
of other measurements. `blocks` are tables and charts, `charts` and `svg` draw, `measures` writes
numbers and names. The page contains numbers and ids, no narrative text.
"""
