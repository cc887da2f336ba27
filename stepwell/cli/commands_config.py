"""The commands about settings: `config` with `set`, `unset`, `path`; and `models`."""

from typing import Annotated

import typer

from stepwell.cli.command_options import AsJson, exit_with
from stepwell.cli.help_groups import PlainUsage

config = typer.Typer(help="Show your settings, and change those in your file.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="`model`, `STEPWELL_MODEL` or a key: `ANTHROPIC_API_KEY`.")]


@config.callback()
def show(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is set and where, and change what is set in your file.

    The environment goes before the trusted .env of the working directory, that before your file (`stepwell config
    path`), and that before the defaults. Keys are not shown.

    In a pipe the fields are separated by tabs: name, value, where it is set.

    Example: stepwell config set model gpt-5.4
    """

    def work() -> int:
        from stepwell.cli import user_settings

        return user_settings.show(as_json=as_json)

    if context.invoked_subcommand is None:
        exit_with(work)


@config.command("set", cls=PlainUsage)
def set_(name: Name, value: Annotated[str, typer.Argument(metavar="VALUE", help="Or `-`, to read it unseen.")]) -> None:
    """Set a value in your file, for all folders.

    With `-` it is asked for unseen, or read from a pipe, so that a key is not in the shell's history.

    Example: stepwell config set OPENAI_API_KEY -
    """

    def work() -> int:
        from stepwell.cli import user_settings

        return user_settings.change(name, value)

    exit_with(work)


@config.command(cls=PlainUsage)
def unset(name: Name) -> None:
    """Remove a value from your file.

    Example: stepwell config unset model
    """

    def work() -> int:
        from stepwell.cli import user_settings

        return user_settings.remove(name)

    exit_with(work)


@config.command(cls=PlainUsage)
def path() -> None:
    """Print where your file is.

    Example: stepwell config path
    """

    def work() -> int:
        from stepwell.cli import user_settings

        return user_settings.path()

    exit_with(work)


def models(as_json: AsJson = False) -> None:
    """List the models that can be used now, and what others lack.

    It is also said which is the default, and why. Keys are not tried. In a pipe the fields are separated by tabs: name,
    `ready` or `missing`, what is missing or a remark, `default`.

    Example: stepwell models
    """

    def work() -> int:
        from stepwell.cli import user_settings

        return user_settings.list_models(as_json=as_json)

    exit_with(work)
