"""The parts that all studies share: resumable runs, tables, charts and the report.

A new study is a folder beside this one with two or three modules:

- `study.py`: the settings (a `msgspec.Struct` read by `core.settings.read_settings`), the list of runs,
  and one function that the command calls.
- There, or in `runs.py`: the runs, dataclasses with `eq=False` that have `name`, `kind` and `depends_on`
  (see `study.Run`), and what one run does. It returns a record of JSON values, best as tidy rows
  (`{"rows": [{"site": "A", "f1": 0.9}]}`).
- `tables.py`: `Table`s of pandas frames made of the records, and charts (`figures.panels`).

::

    study = Study("sizes", options, inputs=[config.train], shared={"settings": repr(config)})
    records = dict(study.finish(runs_of(config, options.seeds), work))
    rows = pd.DataFrame(
        {"size": run.size, **row} for run, record in records.items() for row in record["rows"]
    )
    table = Table("f1", "F1 by size", rows.groupby("size", as_index=False)["f1"].mean(), digits=4)
    provenance = study.provenance(settings={"network": repr(config.network)}, n_seconds={"training": 3.0})
    Report(title="Sizes", provenance=provenance, text=[], sections={"F1": [table]}).write(study.folder)

`finish` resumes an interrupted study, respects `--only` and `--jobs`, and prints progress. Further files
of a run (weights, scores) are kept in the folder `runs` with `records.write_arrays` and named in
`record["files"]`. `scoring` scores and measures the tokens of annotated corpora. Reports, logs and stored
scores contain numbers only.
"""
