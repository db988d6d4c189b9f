"""The pages of the review for the browser; all that they show and store goes through `review`.

====================  ======================================================================
module                what it is for
====================  ======================================================================
`application`         the routes, and the headers of every answer
`visits`              who asks: session, CSRF token, role, size of the post, errors as answers
`rendering`           templates (autoescape on) and the theme
`logging_in`          log-in, log-out, theme
`work_list_page`      the list of cases, the next one, assignment
`case_page`           the reading page and its small requests; also for an adjudicator
`case_data`           a case as the reading page gets it: words, gaps, decisions, doubts
`legend`              letters and colours of categories and reasons
`finished_page`       agreed and released cases: print view, release, withdraw
`form_page`           the causality form
`sample_page`         the elusion check: draw, read, bound
`summary_page`        progress, agreement, time
`accounts_page`       accounts, for admins
`serving`             uvicorn, addresses and TLS
====================  ======================================================================

Narrative text goes out in two ways only: as JSON that the page inserts as text nodes, and through
templates that escape it. No URL, cookie or log line holds any.
"""
