"""The pages of the review for the browser; all that they show and store goes through `review`.

==================  ========================================================================
module              content
==================  ========================================================================
`application`       the routes, the headers of every response, uvicorn, addresses and TLS
`visits`            session, CSRF token, role, errors as responses, templates; log-in and log-out
`list_pages`        the list of cases: search, filters, order, several cases at once; the next case
`form_pages`        summary; agreed and released cases: release, withdraw, causality form, elusion check
`account_pages`     accounts and roles for admins; the own password of every user
`trail_page`        the trail in plain words, its check and its export
`intake_pages`      adds files: upload, choices with an example, progress of the masking
`file_pages`        the files; released text for download: one file, all or chosen cases as a zip; deletion
`audience`          what differs between the pages of a team and those of a desk
`door`              the one-time address of a desk, in place of the log-in
`sign_in`           the sign-in at an OpenID provider
`case_page`         the reading page and its small requests; also for an adjudicator
==================  ========================================================================

Narrative text is sent in two ways only: as JSON that the page inserts as text nodes, and through
templates that escape it. No URL, cookie or log line contains any. Names of cases and files may name people:
they are in a URL or cookie only if it is encrypted with the key of the store.
"""
