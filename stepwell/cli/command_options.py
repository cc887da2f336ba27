"""The options that several commands share, and what becomes of them."""

import functools
import glob
import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, get_args

import typer

from sandboxes.network import Mode, NetworkError, parse_domains
from stepwell.cli import completion
from stepwell.cli.exits import announce_start, print_error, run_command
from stepwell.errors import UsageError

if TYPE_CHECKING:
    from stepwell.cli.run import Choices


@dataclass(frozen=True, slots=True)
class NetworkChoice:
    """The values of `--network` and `--allow-domain`."""

    mode: str = ""
    domains: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """What goes before the settings: domains that are named here stand in the place of theirs.

        Raises:
            UsageError: they cannot be used.
        """
        modes = get_args(Mode)
        if self.mode and self.mode not in modes:
            raise UsageError(f"--network cannot be {self.mode!r}; there are: {', '.join(modes)}.")
        if self.domains and self.mode not in ("", "allowlist"):
            raise UsageError(f"--allow-domain goes with --network allowlist, not with --network {self.mode}.")
        try:
            parse_domains(self.domains)
        except NetworkError as error:
            raise UsageError(f"--allow-domain: {error}.") from None
        if self.domains:
            return {"network": "allowlist", "network_allow": ",".join(self.domains)}
        return {"network": self.mode} if self.mode else {}

    def options(self) -> tuple[str, ...]:
        """The options as they are given again to a command that goes on."""
        mode = ("--network", self.mode) if self.mode else ()
        return (*mode, *(part for domain in self.domains for part in ("--allow-domain", domain)))


def named_files(names: Iterable[str]) -> list[str]:
    """The inputs that a command line names: globs expanded, local paths absolute, URLs as they are.

    Paths become absolute because a thread may be resumed from another folder.

    Raises:
        UsageError: a path does not exist or cannot be read, or a glob matches nothing.
    """
    found: dict[str, None] = {}
    for name in names:
        for file in _expanded(name):
            found[file] = None
    return list(found)


def _expanded(name: str) -> list[str]:
    if "://" in name:
        return [_fetchable(name)]
    if not name.strip():
        raise UsageError("A file's name is empty; leave it out, or check the quotes.")
    if name == PIPED and not os.path.lexists(name):
        raise UsageError("- is no file: save what comes in under a name first, such as data.csv, and give that.")
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises when a user is unknown
    if os.path.lexists(path) or not glob.has_magic(name):
        return [_readable(path, name)]
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute patterns
    if not matches:
        raise UsageError(f"No file matches {name}; check the pattern and the folder ({Path.cwd()}).")
    from storage.inputs import fixed_folder, leading_out_text, within

    kept, leading_out = within(fixed_folder(str(path)), matches)
    if leading_out:
        told = leading_out_text(name, leading_out)
        if not kept:
            raise UsageError(told)
        print_error(told)
    return [_readable(Path(match), match) for match in kept]


def _fetchable(url: str) -> str:
    from storage.inputs import InputError, is_url

    try:
        is_url(url)
    except InputError as error:
        raise UsageError(str(error)) from None
    return url


def _readable(path: Path, name: str) -> str:
    try:
        mode_known = path.is_dir() or path.is_file()
    except OSError as error:
        raise UsageError(f"{name} cannot be looked at: {error.strerror}.") from None
    if not path.exists():
        raise UsageError(f"{name} does not exist; check the path (the working directory is {Path.cwd()}).")
    if not mode_known:
        raise UsageError(f"{name} is neither a file nor a folder; save what it delivers to a file first.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UsageError(f"{name} cannot be read; check its permissions.")
    if path.is_dir() and not any(files for _, _, files in os.walk(path)):
        raise UsageError(f"The folder {name} holds no files; name another one, or the files themselves.")
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links, and the user's own name is clearer


MODEL, ASKING, LIMITS = "The model and its answer", "What you are asked before", "Limits"
PLACE, OUTPUT = "Where code runs", "What is shown and written"
"""Headings of options on a terminal."""

PIPED = "-"
"""As a question: what is piped in."""
Question = Annotated[
    str,
    typer.Argument(metavar="QUESTION", help="What you want to know, in any language; - reads it from a pipe."),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="Files, folders, globs (quoted) and URLs (https://, s3://); ./-name where a name begins with a dash.",
    ),
]
Thread = Annotated[
    str,
    typer.Argument(
        metavar="THREAD",
        help="A thread: its name, its id or at least four first characters of it, or `last`.",
        autocompletion=completion.threads,
    ),
]
ThreadOrStep = Annotated[
    str,
    typer.Argument(
        metavar="THREAD[@STEP]",
        help="A thread, or a step of it: `last@3`, `last@4b`.",
        autocompletion=completion.threads,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The model: a name at the endpoint, `provider:name`, or `playbook`.",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
SandboxKind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Where code runs: `local`, on this machine, `docker`, or `daytona`.",
        autocompletion=completion.sandbox_kinds,
        rich_help_panel=PLACE,
    ),
]
Approve = Annotated[
    bool | None,
    typer.Option(
        "--approve/--no-approve", help="Ask before each cell runs, or do not ask any more.", rich_help_panel=ASKING
    ),
]
PlanFirst = Annotated[
    bool | None,
    typer.Option(
        "--plan/--no-plan",
        help="Ask about the plan before the work begins, or do not ask any more.",
        rich_help_panel=ASKING,
    ),
]
Review = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="Whether the model looks at its answer once more: `auto`, `always` or `never` (auto).",
        autocompletion=completion.reviews,
        rich_help_panel=MODEL,
    ),
]
MaxCells = Annotated[
    int | None, typer.Option(min=1, max=1000, metavar="N", help="Cells per question (30).", rich_help_panel=LIMITS)
]
CellTimeout = Annotated[
    float | None, typer.Option(min=0.1, metavar="SECONDS", help="Time one cell may take (120).", rich_help_panel=LIMITS)
]
MaxTokens = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Tokens for the whole thread; 0: no limit.", rich_help_panel=LIMITS),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="AMOUNT",
        help="Money for the whole thread, by STEPWELL_PRICES; 0: no limit.",
        rich_help_panel=LIMITS,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Language of the answer (the one of the question).", rich_help_panel=MODEL),
]
ArtifactsTo = Annotated[
    str,
    typer.Option(
        "--artifacts",
        metavar="DEST",
        help="Folder or URL for finished files, one folder a thread.",
        rich_help_panel=OUTPUT,
    ),
]
NetworkMode = Annotated[
    str,
    typer.Option(
        "--network",
        metavar="MODE",
        help="What cells may reach: `none`, `allowlist` or `full` (STEPWELL_NETWORK, none).",
        autocompletion=completion.network_modes,
        rich_help_panel=PLACE,
    ),
]
AllowDomains = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-domain",
        metavar="DOMAIN",
        help="A domain that cells may reach: example.org, *.example.org, example.org:8443. May be repeated.",
        rich_help_panel=PLACE,
    ),
]
AsEvents = Annotated[
    bool,
    typer.Option("--json", help="Each event as a line of JSON on stdout, and nothing else.", rich_help_panel=OUTPUT),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
AcceptChanged = Annotated[
    bool, typer.Option("--accept-changed", help="Go on although inputs are gone or were changed from outside.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer and its files.", rich_help_panel=OUTPUT)]
NoLive = Annotated[bool, typer.Option("--no-live", help="Plain lines, also on a terminal.", rich_help_panel=OUTPUT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of the commands that run something; each field is one."""

    model: Model = None
    sandbox: SandboxKind = None
    plan: PlanFirst = None
    approve: Approve = None
    review: Review = None
    max_cells: MaxCells = None
    cell_timeout: CellTimeout = None
    max_tokens: MaxTokens = None
    max_cost: MaxCost = None
    language: Language = None
    network: NetworkMode = ""
    allow_domain: AllowDomains = None
    artifacts: ArtifactsTo = ""
    as_json: AsEvents = False
    quiet: Quiet = False
    no_live: NoLive = False

    def context(self) -> dict[str, Any]:
        """The options that were given, by their names in Context."""
        names = ("model", "sandbox", "review", "max_cells", "cell_timeout", "max_tokens", "max_cost", "language")
        given = {name: getattr(self, name) for name in names}
        given["approve_plan"] = self.plan
        given["approval"] = None if self.approve is None else "cells" if self.approve else "none"
        return {name: value for name, value in given.items() if value is not None}

    def choices(self, *, accept_changed: bool = False) -> "Choices":
        """The same as `stepwell.cli.run` takes it.

        Raises:
            UsageError: two of them contradict each other.
        """
        from stepwell.cli.run import Choices

        if self.as_json and self.quiet:
            raise UsageError("Give only one of --json and --quiet.")
        network = NetworkChoice(self.network, tuple(self.allow_domain or ()))
        output: Literal["full", "quiet", "json"] = "json" if self.as_json else "quiet" if self.quiet else "full"
        return Choices(
            self.context(),
            self.artifacts,
            output,
            live=not self.no_live,
            network=network,
            accept_changed=accept_changed,
        )


def with_run_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options of `RunOptions` to a command, which receives them as `options`.

    Args:
        names: Those that the command has; none: all of them.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        shared = inspect.signature(RunOptions).parameters
        added = {name: shared[name] for name in names or shared}

        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            options = RunOptions(**{name: values.pop(name) for name in added})
            if "quiet" in added and not options.quiet and not options.as_json:
                announce_start()
            command(**values, options=options)

        own = [item for name, item in inspect.signature(command).parameters.items() if name != "options"]
        parameters = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in (*own, *added.values())]
        del with_options.__dict__["__wrapped__"]  # Typer would read the command's own signature
        with_options.__dict__["__signature__"] = inspect.Signature(parameters)
        with_options.__annotations__ = {item.name: item.annotation for item in parameters}
        return with_options

    return add


def exit_with(work: Callable[[], int], *, connects: bool = True) -> NoReturn:
    """Do the work of a command, which may connect to other machines, and end with its exit code."""
    raise typer.Exit(run_command(work, connects=connects))
