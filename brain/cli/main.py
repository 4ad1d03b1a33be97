"""The `brain` command (spec 09). Every command imports its work when it runs, so that help starts at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brain.cli.glpi_commands import glpi_app
from brain.cli.leaving import own_the_process
from brain.cli.options import ActorOption, ConfigOption, HomeOption, JsonFlag, LimitOption, invoke
from brain.version import VERSION

__all__ = ["app", "main"]

app = typer.Typer(
    name="brain",
    help="Neural Brain keeps an organisation's technical knowledge alive.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
rebuild_app = typer.Typer(no_args_is_help=True, help="One-off rebuilds, safe beside a running daemon.")
queue_app = typer.Typer(no_args_is_help=True, help="The research queue.")
pairs_app = typer.Typer(no_args_is_help=True, help="Thinking pairs, and why each was decided as it was.")
articles_app = typer.Typer(no_args_is_help=True, help="Articles: look, then decide.")
app.add_typer(rebuild_app, name="rebuild")
app.add_typer(queue_app, name="queue")
app.add_typer(pairs_app, name="pairs")
app.add_typer(articles_app, name="articles")
app.add_typer(glpi_app, name="glpi")


def main() -> None:
    """Entry point of the `brain` script."""
    own_the_process()
    app()


def _version(value: bool) -> None:
    if value:
        typer.echo(f"neural-brain {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Neural Brain keeps an organisation's technical knowledge alive."""


@app.command()
def demo(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """The whole main job on the shipped sample, with the embedded defaults."""
    invoke("work", "demo", as_json, home, config)


@app.command()
def run(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """The daemon: loops and API, until SIGTERM or Ctrl-C."""
    invoke("work", "daemon", as_json, home, config)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of files.")],
    mapping: Annotated[
        str, typer.Option("--map", metavar="COLUMN=FIELD,...", help="For CSV and JSON exports, e.g. Betreff=label.")
    ] = "",
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Admit files: .md .txt .html .json .jsonl .csv .pdf .docx"""
    invoke("work", "ingest", as_json, home, config, paths=paths, mapping=mapping)


@app.command()
def learn(
    limit: LimitOption = None, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """One learning pass: inbox, library, embeddings, vector edges."""
    invoke("work", "learn", as_json, home, config, limit=limit)


@app.command()
def think(
    limit: LimitOption = None,
    pair: Annotated[
        tuple[str, str] | None, typer.Option("--pair", metavar="NODE NODE", help="Think about this pair now.")
    ] = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """One thinking pass: pairs that ought to be related are researched and decided."""
    invoke("work", "think", as_json, home, config, limit=limit, pair=pair)


@app.command()
def scan(
    limit: LimitOption = None, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """One look for knowledge gaps; plans no more than today's budget can do."""
    invoke("work", "scan", as_json, home, config, limit=limit)


@app.command()
def work(
    limit: LimitOption = None, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None
) -> None:
    """Work on the queue until it is empty, today's budget is used, or LIMIT tasks are done."""
    invoke("work", "work", as_json, home, config, limit=limit)


def _rebuild(what: str, summary: str) -> None:
    def command(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
        invoke("work", "rebuild", as_json, home, config, what=what)

    command.__doc__ = summary
    rebuild_app.command(what)(command)


_rebuild("vectors", "Embed every node anew.")
_rebuild("edges", "Recompute vector edges from the vectors.")
_rebuild("layout", "Lay the map out from scratch.")
_rebuild("all", "Vectors, edges and layout.")


@app.command()
def status(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """What there is and what is going on."""
    invoke("telemetry", "status", as_json, home, config)


@app.command()
def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as events come.")] = False,
    name: Annotated[str, typer.Option("--name", metavar="PREFIX", help="Only names that begin so.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="The latest so many.")] = 50,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """The event log; with --json and --follow one JSON document a line."""
    invoke("telemetry", "events", as_json, home, config, follow=follow, name=name, limit=limit)


@app.command()
def journal(
    limit: Annotated[int, typer.Option("--limit", min=1, help="The latest so many.")] = 50,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Every verified write: who, what, before and after."""
    invoke("telemetry", "journal", as_json, home, config, limit=limit)


@app.command()
def opportunities(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The best so many.")] = 50,
    kind: Annotated[str | None, typer.Option("--kind", help="Only gaps of this kind, e.g. orphan or stale.")] = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Knowledge gaps of the latest scan, and what was decided about each."""
    invoke("opportunities", "opportunities", as_json, home, config, limit=limit, kind=kind)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, a code, a sentence.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many nodes.")] = 10,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Find nodes: full text and vectors, fused."""
    invoke("search", "search", as_json, home, config, query=query, limit=limit)


@queue_app.command("list")
def queue_list(
    everything: Annotated[bool, typer.Option("--all", help="Finished and cancelled ones too.")] = False,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Tasks that wait or run, and today's budget."""
    invoke("queue", "queue_list", as_json, home, config, everything=everything)


@queue_app.command("add")
def queue_add(
    topic: Annotated[str, typer.Argument(help="What to find out.")],
    questions: Annotated[list[str] | None, typer.Option("--question", "-q", help="May be given several times.")] = None,
    priority: Annotated[int, typer.Option("--priority", min=0, max=100)] = 70,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Ask for research; beyond today's budget it waits for the next UTC day."""
    invoke("queue", "queue_add", as_json, home, config, topic=topic, questions=questions or [], priority=priority)


@queue_app.command("show")
def queue_show(task: str, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """One task with everything known about it."""
    invoke("queue", "queue_show", as_json, home, config, task=task)


@queue_app.command("cancel")
def queue_cancel(task: str, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Take a waiting task out of the queue."""
    invoke("queue", "queue_cancel", as_json, home, config, task=task)


@queue_app.command("retry")
def queue_retry(task: str, as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Queue a failed task again."""
    invoke("queue", "queue_retry", as_json, home, config, task=task)


@queue_app.command("consolidate")
def queue_consolidate(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Merge waiting tasks that are the same work."""
    invoke("queue", "queue_consolidate", as_json, home, config)


@pairs_app.command("list")
def pairs_list(
    reason: Annotated[str, typer.Option("--reason", help="Only pairs decided so.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1)] = 50,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Decided pairs, latest first."""
    invoke("pairs", "pairs_list", as_json, home, config, reason=reason, limit=limit)


@pairs_app.command("show")
def pairs_show(
    source: Annotated[str, typer.Argument(metavar="NODE|RELATION")],
    target: Annotated[str | None, typer.Argument(metavar="NODE")] = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """One pair: its plan, its query, every hit and where it fell, every text with its scores, its relations."""
    invoke("pairs", "pairs_show", as_json, home, config, source=source, target=target)


@articles_app.command("list")
def articles_list(
    state: Annotated[str, typer.Option("--state", help="staged, approved, published, rejected or retired.")] = "",
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Articles with state and revision."""
    invoke("articles", "list_articles", as_json, home, config, state=state)


@articles_app.command("show")
def articles_show(
    article: str,
    evidence: Annotated[bool, typer.Option("--evidence", help="Every sentence with the span it stands on.")] = False,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """One article as Markdown."""
    invoke("articles", "show", as_json, home, config, article=article, evidence=evidence)


@articles_app.command("approve")
def articles_approve(
    article: str,
    revision: Annotated[int, typer.Option("--revision", min=1, help="The revision you read.")],
    actor: ActorOption,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Approve the revision you read; refused if it changed meanwhile."""
    invoke("articles", "approve", as_json, home, config, article=article, revision=revision, actor=actor)


@articles_app.command("reject")
def articles_reject(
    article: str,
    reason: Annotated[str, typer.Option("--reason", help="What the next attempt must do better.")],
    actor: ActorOption,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Reject a staged article with a reason."""
    invoke("articles", "reject", as_json, home, config, article=article, reason=reason, actor=actor)


@articles_app.command("retire")
def articles_retire(
    article: str,
    actor: ActorOption,
    reason: Annotated[str, typer.Option("--reason")] = "",
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take an approved or published article out of use."""
    invoke("articles", "retire", as_json, home, config, article=article, reason=reason, actor=actor)


@articles_app.command("reactivate")
def articles_reactivate(
    article: str,
    actor: ActorOption,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Stage a retired article again."""
    invoke("articles", "reactivate", as_json, home, config, article=article, actor=actor)


@articles_app.command("export")
def articles_export(
    directory: Annotated[Path, typer.Argument(metavar="DIR")],
    format: Annotated[
        str, typer.Option("--format", help="markdown, obsidian (a vault), html (a site with search) or json.")
    ] = "markdown",
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write approved articles into a folder; a file that somebody edited is reported, never overwritten."""
    invoke("articles", "export", as_json, home, config, directory=directory, format=format)


@articles_app.command("diff")
def articles_diff(
    article: str,
    before: Annotated[int | None, typer.Option("--from", help="Default: the approved revision.")] = None,
    after: Annotated[int | None, typer.Option("--to", help="Default: the current revision.")] = None,
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what changed between two revisions of an article."""
    invoke("articles", "diff", as_json, home, config, article=article, before=before, after=after)


@app.command()
def doctor(as_json: JsonFlag = False, home: HomeOption = None, config: ConfigOption = None) -> None:
    """Check configuration, backends, store and evidence; say what to do for each fault."""
    invoke("care", "doctor", as_json, home, config)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a consistent copy of the home to FILE (.tar), also while the daemon runs."""
    invoke("care", "backup", as_json, home, config, file=file)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    as_json: JsonFlag = False,
    home: HomeOption = None,
    config: ConfigOption = None,
) -> None:
    """Bring a backup back into an empty home."""
    invoke("care", "restore", as_json, home, config, file=file)
