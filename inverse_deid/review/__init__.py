"""The expert's review: everything under the web pages. No web code stands here.

======================  ==========================================================================
module                  what it is for
======================  ==========================================================================
`values`                the values that go in and out; `core.errors` holds the errors
`keys`, `store`         the key, the database; every function takes a `ReviewStore` first
`loading`               cases are masked into a store (`review init`)
`accounts`, `sessions`  users, passwords, log-in, session ids, CSRF tokens
`work_list`             pages of cases, progress, assignment, locks
`reading`               what a reviewer (or adjudicator) sees of a case
`editing`               mask, unmask, category, all mentions, undo, redo, note
`approval`              approve, release, withdraw
`trail`                 the append-only log and its verification
`reviewers`             agreement of reviewers, time per case
`causality`             the causality form and its summary
`sampling`              elusion check: released cases read in full
`exporting`             released and annotated documents out, corrections in
======================  ==========================================================================

No error, log line or `repr` shows narrative text, passwords, session ids or keys.
"""
