"""`stepwell config`, done and said."""

import getpass
import re
import sys
from urllib.parse import urlsplit

from graph.settings import SettingsError, read_settings
from graph.settings_file import SetVariable, set_variable, set_variables, unset_variable, user_file
from stepwell.cli.exits import FAILED, FINISHED, print_error
from stepwell.cli.terminal_text import one_line
from stepwell.cli.thread_list import json_out, line_out
from stepwell.model_list import default_reason, model_sources

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE_URL|_HEADERS", re.IGNORECASE)


def shown(variable: SetVariable) -> str:
    """Its value, without what is secret in it."""
    if not variable.value:
        return ""
    if SECRET.search(variable.name) or (
        "@" in variable.value and "://" in variable.value and _has_login(variable.value)
    ):
        return "(set, not shown)"
    return one_line(variable.value, 300)


def _has_login(value: str) -> bool:
    try:
        return "@" in urlsplit(value).netloc
    except ValueError:
        return True


def show(*, as_json: bool) -> int:
    """What is set, and where."""
    found = set_variables()
    for one in found:
        if as_json:
            json_out({"name": one.name, "value": shown(one), "origin": one.origin})
        else:
            line_out(one.name, shown(one), one_line(one.origin))
    if not found:
        print_error("Nothing is set, so the defaults hold; set something with: stepwell config set NAME VALUE")
    return FINISHED


def change(name: str, value: str) -> int:
    """`stepwell config set`."""
    if value == "-":
        value = getpass.getpass(f"{one_line(name)}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
        if not value:
            raise SettingsError("Nothing was given, so nothing is set.")
    variable = set_variable(name, value)
    print_error(f"{variable} is set in {one_line(str(user_file()))}.")
    for one in set_variables():
        if one.name == variable and one.value != value:
            print_error(f"It has no effect here: {one_line(one.origin)} sets it, too, and goes before.")
    return FINISHED


def remove(name: str) -> int:
    """`stepwell config unset`."""
    variable, there = unset_variable(name)
    print_error(f"{variable} {'is removed from' if there else 'is not set in'} {one_line(str(user_file()))}.")
    return FINISHED if there else FAILED


def path() -> int:
    """`stepwell config path`."""
    line_out(str(user_file()))
    return FINISHED


def list_models(*, as_json: bool) -> int:
    """`stepwell models`."""
    origin = next((one.origin for one in set_variables() if one.name == "STEPWELL_MODEL" and one.value.strip()), "")
    settings = read_settings()
    for one in model_sources(settings):
        if as_json:
            json_out({"name": one.name, "missing": one.missing, "remark": one.remark, "default": one.default})
        else:
            said = f"needs {', '.join(one.missing)}" if one.missing else one.remark
            line_out(one.name, "missing" if one.missing else "ready", said, "default" if one.default else "")
    print_error(one_line(default_reason(settings, origin), 500))
    return FINISHED
