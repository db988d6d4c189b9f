"""An evaluation as one HTML page that needs nothing but a browser or a printer.

`measures` reads and words the numbers, `sections` puts them in order, `svg`, `charts`
and `curves` draw them, `page` fills the template. Numbers and ids only, no narrative text.
"""
