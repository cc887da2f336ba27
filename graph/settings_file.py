"""The user's own settings: the file `.env` of the data folder, as `stepwell config` shows and changes it."""

import difflib
import io
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import AliasChoices, ValidationError

from graph.env_files import (
    CONCERNS_US,
    EnvFileError,
    TrustedFolders,
    home_folder,
    make_home,
    read_env_file,
    read_own_file,
)
from graph.settings import Settings, SettingsError

HOME = "STEPWELL_HOME"


@dataclass(frozen=True, slots=True)
class SetVariable:
    """A variable that is set, and what has set it."""

    name: str
    value: str
    origin: str
    """`environment`, or the path of a file."""


def user_file() -> Path:
    """Where the user's settings lie, whether the file is there or not."""
    return home_folder() / ".env"


def known_variables() -> dict[str, str]:
    """The variable of each setting, and the setting's field."""
    found = {}
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variables = [str(one) for one in alias.choices] if isinstance(alias, AliasChoices) else []
        found[variables[0] if variables else f"STEPWELL_{name.upper()}"] = name
    return found


def full_name(name: str) -> str:
    """The variable that is meant by `model`, `STEPWELL_MODEL` or a vendor's `ANTHROPIC_API_KEY`.

    Raises:
        SettingsError: there is none.
    """
    wanted, known = name.strip().upper().replace("-", "_"), known_variables()
    for candidate in (wanted, f"STEPWELL_{wanted}"):
        if candidate in known:
            return candidate
    if wanted.isascii() and wanted.isidentifier() and not wanted.startswith("STEPWELL_") and CONCERNS_US.match(wanted):
        return wanted
    long = wanted if wanted.startswith("STEPWELL_") else f"STEPWELL_{wanted}"
    near = difflib.get_close_matches(long, known, 1) or difflib.get_close_matches(wanted, known, 1)
    hint = f"did you mean {near[0]}?" if near else "the file .env.example lists all."
    raise SettingsError(f"{name!r} is not a setting of Stepwell; {hint}")


def set_variables() -> list[SetVariable]:
    """What is set, in the order of names; a value in the environment goes before one of a file.

    To be called before settings are read in this process, which puts what files say into the environment. Blocks.

    Raises:
        SettingsError: a file that counts cannot be read.
    """
    home, known = home_folder(), known_variables()
    found: dict[str, SetVariable] = {}
    try:
        own, here = read_own_file(home), read_env_file(Path())
        files = [own] if own is not None else []
        if here is not None and (own is None or here.path != own.path) and TrustedFolders(home).hold(here):
            files.insert(0, here)
    except EnvFileError as error:
        raise SettingsError(str(error)) from None
    for name, value in os.environ.items():
        if name in known or CONCERNS_US.match(name):
            found[name] = SetVariable(name, value, "environment")
    for file in files:
        for name, value in file.values.items():
            if not (file is own and name == HOME):
                found.setdefault(name, SetVariable(name, value, str(file.path)))
    return [found[name] for name in sorted(found)]


def set_variable(name: str, value: str) -> str:
    """Set a variable in the user's file. Blocks.

    Returns:
        Its full name.

    Raises:
        SettingsError: there is no such setting, it cannot have this value, or the file cannot be written.
    """
    variable = full_name(name)
    if variable == HOME:
        raise SettingsError(f"{HOME} names the folder that this file is in; set it in the environment.")
    _check(variable, value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    line = f"{variable}='{escaped}'\n"
    if "\n" in value or "\r" in value or dotenv_values(stream=io.StringIO(line)) != {variable: value}:
        raise SettingsError(f"{variable} cannot be kept in a file with this value; set it in the environment.")
    _write(variable, line)
    return variable


def unset_variable(name: str) -> tuple[str, bool]:
    """Remove a variable from the user's file; returns its full name, and whether it was there. Blocks.

    Raises:
        SettingsError: the file cannot be read or written.
    """
    wanted = name.strip()
    kept = _text()
    there = {binding.key for binding in parse_stream(io.StringIO(kept))}
    variable = wanted if wanted in there else full_name(name)
    if variable in there:
        _write(variable, "")
    return variable, variable in there


def _check(variable: str, value: str) -> None:
    field = known_variables().get(variable)
    if field is None:
        return
    try:
        Settings(**{field: value})  # type: ignore[arg-type]  # it is to be checked
    except ValidationError as error:
        for one in error.errors():
            if one["loc"] and str(one["loc"][0]).lower() in (field, variable.lower()):
                said = one["msg"].removeprefix("Value error, ")
                raise SettingsError(f"{variable} cannot be used: {said}.") from None


def _text() -> str:
    try:
        read_own_file(home_folder())
        return user_file().read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (EnvFileError, OSError) as error:
        raise SettingsError(str(error)) from None


def _write(variable: str, line: str) -> None:
    kept = "".join(one.original.string for one in parse_stream(io.StringIO(_text())) if one.key != variable)
    text = f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}"
    file = Path(os.path.realpath(user_file()))
    aside = file.with_name(f"env-{secrets.token_hex(8)}.partial")
    try:
        make_home(home_folder())
        try:
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                out.write(text)
            aside.replace(file)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written ({error.strerror}).") from None
