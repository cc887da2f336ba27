"""The commands about where threads run: `move`, `sandboxes`."""

from typing import Annotated

import typer

from stepwell.cli.command_options import AsJson, Thread, exit_with


def move(
    thread: Thread,
    to: Annotated[str, typer.Option("--to", metavar="KIND", help="Where it goes on: `local`, `docker` or `daytona`.")],
    lossy: Annotated[bool, typer.Option("--lossy", help="Move it although variables would be lost there.")] = False,
) -> None:
    """Have a thread go on in a sandbox of another kind.

    Its variables and files go with it. Its inputs are carried there now, everything else with its next cell. What the
    other sandbox's Python and packages cannot bring back is said; where that cannot be made again, the thread is not
    moved unless --lossy says so.

    Example: stepwell move last --to daytona
    """

    def work() -> int:
        from stepwell.cli import placement

        return placement.move(thread, to, lossy=lossy)

    exit_with(work)


def sandboxes(
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="`daytona`, or `docker`; default: the one that is configured."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove those that no thread of this data folder names.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the sandboxes that Stepwell has made in Daytona or Docker.

    The fields: name, state, whether a thread names it.

    Installations that share an account, or an engine, need a STEPWELL_DAYTONA_PREFIX, or STEPWELL_DOCKER_PREFIX, each:
    --prune removes what this one does not know.

    Example: stepwell sandboxes --kind docker
    """

    def work() -> int:
        from stepwell.cli import placement

        return placement.sandboxes(kind, prune=prune, as_json=as_json)

    exit_with(work)
