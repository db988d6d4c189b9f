"""The expert's review, in rooms: each knows only those below it, and none knows `inverse_deid.desk`.

=========  ============================  ===============================================================
room       module                        content
=========  ============================  ===============================================================
`pages`                                  the web pages (see there)
`files`    `intake`, `loading`           masks files into a store in use (`review add`); `review init`
           `waiting`, `choices`          files that wait, sealed, to be masked; what is chosen for them
           `service`                     looks into them and masks them in the background
           `releases`, `exporting`       the masked text of one file; files, zips, annotated documents
`flow`     `work_list`, `cases`          pages of cases, assignment; locks and states
           `contents`, `layers`          a case in the store, its doubt; decisions of users on it
           `reading`, `editing`          opens a case; mask, unmask, category, undo, redo, note
           `approval`                    approve, settle, release, withdraw
           `table`                       many cases of a file under each other, approved together
          `word_lists`                  words that are always or never masked, in all cases of a reader
           `oversight`                   who may see an original, the record of who did, limits
           `quality`, `causality`        agreement, time, elusion check; the causality form
`people`   `accounts`, `second_factor`   users, passwords, log-in, sessions, CSRF tokens; one-time codes
           `attempts`                    failed log-ins and their limits
`store`    `anchors`, `backup`           the head of the trail, kept elsewhere; encrypted copies
           `rotation`, `migrations`      another key; newer tables
           `creation`, `deletion`        a new database; deletes files with all work on them
           `trail`                       the append-only log: its verification, pages and export
           `sources`                     the files of a store, and how each is masked and written
           `opening`                     an open `ReviewStore`, and the `Transaction` that all get
           `entries`, `rows`             the chain of entries; seals, so that rows cannot be forged
           `database`, `keys`            SQLite or PostgreSQL; the key and encryption
           `tables`, `values`            the tables; the values that go in and out
=========  ============================  ===============================================================

No error, log line or `repr` shows narrative text, passwords, session ids or keys.
"""
