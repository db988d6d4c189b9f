"""`inverse-deid experiment`: published tables on other data, the network alone, ablations, costs."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from inverse_deid.research.commands.training_extra import need_training, progress

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

_OUT = click.option(
    "--out",
    required=True,
    type=_FOLDER,
    help="Folder for runs and report; a run that is there is not repeated.",
)
_FORCE = click.option("--force", is_flag=True, help="Start anew in the folder of an earlier experiment.")
_THREADS = click.option(
    "--threads",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of TensorFlow; 0 = one a core, 1 leaves the other cores to others.",
)
_QUIET = click.option("-q", "--quiet", is_flag=True, help="No lines of progress.")


class _Seeds(click.ParamType):  # type: ignore[type-arg]
    """Different numbers with commas between."""

    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            seeds = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail("give whole numbers with commas between, as in 1,2", param, ctx)
        if len(set(seeds)) != len(seeds):
            self.fail("give every seed once", param, ctx)
        return seeds


SEEDS = _Seeds()


@click.command()
@click.argument("config", type=_FILE)
@_OUT
@click.option("--compare", multiple=True, type=_ANY, help="Annotated documents to judge on. May be repeated.")
@click.option(
    "--variants",
    type=_FILE,
    default=Path("configs/experiments/ablations.toml"),
    show_default=True,
    help="TOML file of the variants.",
)
@click.option("--only", multiple=True, help="Train only this variant beside the base. May be repeated.")
@click.option("--epochs", type=click.IntRange(1), default=12, show_default=True, help="Passes over the data.")
@click.option("--seeds", type=SEEDS, default="1,2", show_default=True, help="Of each variant.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Trainings at a time, one thread each.",
)
@_FORCE
@_QUIET
def ablations(config: Path, quiet: bool, **given: Any) -> None:  # noqa: ANN401
    """Change one thing at a time and say what it does.

    CONFIG is the base (see configs/default.toml). The epochs' examples are made
    once, with fresh surrogates each, and shared by all variants; the folder OUT/epochs
    holds training text in pieces.
    """
    need_training("an experiment", "experiments")
    from inverse_deid.research.studies.ablations import AblationSettings, run_ablations
    from inverse_deid.training.config import read_run_config

    settings = AblationSettings(
        config=read_run_config(config),
        variants=given["variants"],
        folder=given["out"],
        compare=given["compare"],
        only=given["only"],
        n_epochs=given["epochs"],
        seeds=given["seeds"],
        n_processes=given["jobs"],
        command=command_line(click.get_current_context()),
        force=given["force"],
    )
    run_ablations(settings, progress(quiet=quiet))
    _done(given["out"], quiet=quiet)


@click.command("study")
@click.argument("config", type=_FILE)
@_OUT
@click.option("--seeds", type=_Seeds(), default="1,2,3", show_default=True, help="One training each.")
@click.option("--only", multiple=True, help="Train only this model now. May be repeated.")
@_THREADS
@_FORCE
@_QUIET
def extraction_study(config: Path, out: Path, threads: int, quiet: bool, **given: Any) -> None:  # noqa: ANN401
    """Judge de-identification and concept extraction together.

    CONFIG names documents with both kinds of gold (see configs/experiments/extraction.toml).
    Trains a tagger of identifiers, taggers of concepts on original and masked text, the
    multitask and the stacked model.
    """
    need_training("an experiment", "experiments")
    _use_threads(threads)
    from inverse_deid.research.studies.extraction_study import ExtractionStudySettings, run_extraction_study

    settings = ExtractionStudySettings(
        config=config,
        folder=out,
        seeds=given["seeds"],
        only=given["only"],
        command=command_line(click.get_current_context()),
        force=given["force"],
    )
    run_extraction_study(settings, progress(quiet=quiet))
    _done(out, quiet=quiet)


@click.command("network-alone")
@click.argument("config", type=_FILE)
@click.option("--test", required=True, type=_ANY, help="Annotated documents, never trained on.")
@_OUT
@click.option("--seeds", type=SEEDS, default="1,2", show_default=True, help="One training each.")
@_FORCE
@_QUIET
def network_alone(
    config: Path, test: Path, out: Path, seeds: tuple[int, ...], force: bool, quiet: bool
) -> None:
    """Train a network and measure it without the rules.

    CONFIG is a training configuration (see configs/meddocan.toml); what its data.compare
    names is not needed here and not trained on.
    """
    need_training("an experiment", "experiments")
    from inverse_deid.research.studies.network_alone import NetworkAloneSettings, run_network_alone
    from inverse_deid.training.config import read_run_config

    settings = NetworkAloneSettings(
        config=read_run_config(config),
        config_path=config,
        test=test,
        folder=out,
        seeds=seeds,
        command=command_line(click.get_current_context()),
        force=force,
        show=not quiet and sys.stderr.isatty(),
    )
    run_network_alone(settings, progress(quiet=quiet))
    _done(out, quiet=quiet)


@click.command()
@click.option("--first", required=True, type=_ANY, help="Annotated documents to train on.")
@click.option("--first-test", required=True, type=_ANY, help="Annotated documents to judge that on.")
@click.option("--second", required=True, type=_ANY, help="Annotated documents to fine-tune on.")
@click.option("--second-test", required=True, type=_ANY, help="Annotated documents to judge that on.")
@click.option("--mapping", type=_FILE, help="TOML file that maps the second corpus's types to ours.")
@_OUT
@click.option("--runs", type=click.IntRange(1), default=2, show_default=True, help="Of each variant.")
@click.option("--epochs", type=click.IntRange(1), default=4, show_default=True, help="Of each run.")
@click.option(
    "--fine-tuning-epochs", type=click.IntRange(1), default=2, show_default=True, help="On the second one."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the first runs; others count up.")
@click.option(
    "--policy",
    type=click.Choice(["literal", "case-aware"]),
    default="literal",
    show_default=True,
    help="How the rules judge ambiguous words; literal is the thesis's way.",
)
@click.option(
    "--config-folder",
    type=_FOLDER,
    default=Path("configs"),
    show_default=True,
    help="Holds thesis-a.toml to thesis-d.toml; their network and training parts count.",
)
@_FORCE
@_QUIET
def thesis(quiet: bool, **given: Any) -> None:  # noqa: ANN401 - the options are listed above
    """Repeat the experiments of the thesis on two corpora.

    Trains its variants a to d on the first corpus, evaluates them after each
    epoch, fine-tunes the best one on the second, and writes the thesis's tables beside
    the published figures.
    """
    need_training("an experiment", "experiments")
    from inverse_deid.research.studies.thesis import ThesisSettings, run_thesis

    counted = ("runs", "epochs", "fine_tuning_epochs")
    names = {"out": "folder"} | {name: f"n_{name}" for name in counted}
    settings = ThesisSettings(
        **{names.get(name, name): value for name, value in given.items()},
        command=command_line(click.get_current_context()),
    )
    run_thesis(settings, progress(quiet=quiet))
    _done(given["out"], quiet=quiet)


@click.command("study")
@click.argument("config", type=_FILE)
@_OUT
@click.option("--seeds", type=_Seeds(), default="1,2,3", show_default=True, help="Of each run.")
@click.option("--only", multiple=True, help="Do only runs of this kind now. May be repeated.")
@_THREADS
@_FORCE
@_QUIET
def sharing_study(config: Path, threads: int, quiet: bool, **given: Any) -> None:  # noqa: ANN401 - the options are listed above
    """Share training data as private representations, and attack them.

    CONFIG names the corpora (see configs/experiments/sharing.toml). Trains networks on words,
    on pseudonymised words and on representations, and writes the paper's table 2 and figures 4
    and 5 beside the published figures.
    """
    need_training("an experiment", "experiments")
    _use_threads(threads)
    from inverse_deid.research.studies.sharing import SharingSettings, run_sharing
    from inverse_deid.research.studies.sharing_config import read_study_config

    settings = SharingSettings(
        config=read_study_config(config),
        config_path=config,
        folder=given["out"],
        seeds=given["seeds"],
        only=given["only"],
        command=command_line(click.get_current_context()),
        force=given["force"],
    )
    run_sharing(settings, progress(quiet=quiet))
    _done(given["out"], quiet=quiet)


def _use_threads(n_threads: int) -> None:
    """Of TensorFlow, before anything else uses it; 0 = its own choice."""
    import tensorflow as tf

    if n_threads:
        with suppress(RuntimeError):  # TensorFlow was used before: in tests
            tf.config.threading.set_intra_op_parallelism_threads(n_threads)
            tf.config.threading.set_inter_op_parallelism_threads(n_threads)


def _done(folder: Path, *, quiet: bool) -> None:
    if not quiet:
        click.echo(f"report written to {folder / 'report.md'}")


def command_line(ctx: click.Context) -> str:
    """The command with the options that differ from their defaults, as one could give it again.

    Args:
        ctx: Of a parsed command.
    """
    words = ["inverse-deid", *ctx.command_path.split()[1:]]
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif value is None or param.name in ("force", "quiet") or value == param.get_default(ctx):
            continue
        elif isinstance(value, tuple) and not getattr(param, "multiple", False):
            words += [param.opts[-1], ",".join(map(str, value))]
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [param.opts[-1]] if value is True else [param.opts[-1], str(one)]
    return shlex.join(words)
