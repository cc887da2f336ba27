"""The signature of a host function, made of its description. Used by both sides."""

import inspect
from typing import Any

PLAIN = {kind.__name__: kind for kind in (bool, int, float, str, list, dict, tuple, object)} | {"None": None}
"""Annotations that are more than texts."""


class Text(str):
    """An annotation that is only a text, and is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


class Unknown:
    """A default that is none of JSON's values: there is one, and the host knows it."""

    def __repr__(self) -> str:
        return "..."


def signature(described: dict[str, Any]) -> inspect.Signature:
    """The signature of a described function; a default that is not known shows as `...`."""
    parameters = [
        inspect.Parameter(
            parameter["name"],
            inspect._ParameterKind[parameter["kind"]],
            default=_default(parameter),
            annotation=_annotation(parameter["annotation"]),
        )
        for parameter in described["parameters"]
    ]
    return inspect.Signature(parameters, return_annotation=_annotation(described["returns"]))


def _default(parameter: dict[str, Any]) -> Any:
    if not parameter["optional"]:
        return inspect.Parameter.empty
    return parameter.get("default", Unknown())


def _annotation(text: str) -> Any:
    return PLAIN.get(text, Text(text)) if text else inspect.Parameter.empty
