"""The commands that say what threads are called: `rename`, `tag`."""

from typing import Annotated

import typer

from stepwell.cli.command_options import Thread, exit_with


def rename(
    thread: Thread,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Up to 100 characters, no other thread's.", show_default=False)
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take its name away.")] = False,
) -> None:
    """Give a thread a name, to be used in the place of its id.

    Case does not matter. A fork does not inherit the name.

    Example: stepwell rename last "sales of May"
    """

    def work() -> int:
        from stepwell.cli import thread_labels
        from stepwell.errors import UsageError

        if bool(name.strip()) == remove:
            raise UsageError("Give either a name or --remove.")
        return thread_labels.rename(thread, name)

    exit_with(work)


def tag(
    thread: Thread,
    tags: Annotated[
        list[str] | None, typer.Argument(metavar="TAG", help="Words; without any, its tags are printed.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take these tags away.")] = False,
) -> None:
    """Give a thread tags, take them away, or print those it has.

    `stepwell threads --tag TAG` lists the threads that have one.

    Example: stepwell tag last sales 2026
    """

    def work() -> int:
        from stepwell.cli import thread_labels
        from stepwell.errors import UsageError

        if remove and not tags:
            raise UsageError("Name the tags that --remove takes away.")
        return thread_labels.tag(thread, tags or [], remove=remove)

    exit_with(work)
