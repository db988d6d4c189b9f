"""The expert's review: everything under the web pages, which are in `pages`.

====================  ==========================================================================
module                content
====================  ==========================================================================
`values`, `tables`    the values that go in and out, the tables; `core.errors` has the errors
`store`               the database, its key and encryption; every function takes a `ReviewStore`
`schema`              the version of the tables, migration of older stores
`rows`, `replay`      seals of rows, so that they cannot be forged; the seals of an older store
`sources`             the files of a store: how each is masked and written, their names, the list
`intake`, `loading`   masks files into a store in use (`review add`); makes a store (`review init`)
`waiting`             files that were added and wait, sealed, to be masked
`intake_choices`      what a person chooses for them, and the example that shows it
`intake_service`      looks into them and masks them in the background
`desk`                the review of one person on their own computer (`inverse-deid desk`)
`accounts`            users, passwords, log-in, sessions, CSRF tokens
`work_list`           pages of cases, progress, assignment
`contents`, `layers`  a case in the store, its doubt; decisions of users on it; the masked text
`cases`               locks and states
`oversight`           who may see an original, the record of who did, limits that admins set
`reading`             opens a case for a reviewer or adjudicator
`editing`             mask, unmask, category, all mentions, undo, redo, note
`approval`            approve, settle, release, withdraw
`trail`, `anchors`    the append-only log and its verification; its head, kept elsewhere
`quality`             agreement and time of reviewers; elusion check
`causality`           the causality form and its summary
`releases`            the masked text of the released cases of one file
`exporting`           released text as files or a zip, annotated documents out, corrections in
`deletion`            deletes files with all work on them
====================  ==========================================================================

No error, log line or `repr` shows narrative text, passwords, session ids or keys.
"""
