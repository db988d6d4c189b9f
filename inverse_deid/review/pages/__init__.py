"""The pages of the review for the browser; all that they show and store goes through `review`.

Narrative text is sent in two ways only: as JSON that the page inserts as text nodes, and through
templates that escape it. No URL, cookie or log line contains any. Names of cases and files may name people:
they are in a URL or cookie only if it is encrypted with the key of the store.
"""
