"""The pages of the review for the browser; all that they show and store goes through `review`.

==================  ========================================================================
module              content
==================  ========================================================================
`application`       the routes, the headers of every response, uvicorn, addresses and TLS
`visits`            session, CSRF token, role, errors as responses, templates; log-in and log-out
`form_pages`        the list of cases, the next case, assignment; summary; accounts; agreed and released
                    cases: release, withdraw, causality form, elusion check
`case_page`         the reading page and its small requests; also for an adjudicator
==================  ========================================================================

Narrative text is sent in two ways only: as JSON that the page inserts as text nodes, and through
templates that escape it. No URL, cookie or log line contains any.
"""
