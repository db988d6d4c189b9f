"""Reading and writing: one module a format, and `registry` that picks one.

Every format streams: a `Source` yields `Record`s lazily, a `Sink` writes the
masked documents in the same order. What a format cannot read it says with a
typed error that names no narrative text; one bad record in the middle is a
`Record` with a `problem`, so that the others are finished.
"""
