"""Reading and writing: one module per format, and `registry`, which lists them all.

Every format streams: a `Source` yields `Record`s lazily, and a `Sink` writes the masked records in the same
order. A file that cannot be read is a typed error without narrative text. One bad record is a `Record` with a
`problem`, so that the others are finished.
"""
