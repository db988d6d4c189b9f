"""The expert's review: everything under the web pages, which are in `pages`.

====================  ==========================================================================
module                content
====================  ==========================================================================
`values`, `tables`    the values that go in and out, the tables; `core.errors` has the errors
`store`               the database, its key and encryption; every function takes a `ReviewStore`
`loading`             masks cases into a store (`review init`)
`accounts`            users, passwords, log-in, sessions, CSRF tokens
`work_list`           pages of cases, progress, assignment
`contents`, `layers`  a case in the store, its doubt; decisions of users on it; the masked text
`cases`               locks and states
`reading`             opens a case for a reviewer or adjudicator
`editing`             mask, unmask, category, all mentions, undo, redo, note
`approval`            approve, settle, release, withdraw
`trail`               the append-only log and its verification
`quality`             agreement and time of reviewers; elusion check
`causality`           the causality form and its summary
`exporting`           released text and annotated documents out, corrections in
====================  ==========================================================================

No error, log line or `repr` shows narrative text, passwords, session ids or keys.
"""
