"""A tool of an MCP server as a function that cells can call: its name, its signature, and what it gives."""

import keyword
import re
from collections.abc import Mapping
from typing import Any

from models.received import whole_text
from sandboxes.functions import Description, Parameter
from sandboxes.inside.kernel.values import is_finite

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
MAX_DOC = 4_000
"""Characters."""
MAX_PARAMETER_DOC = 300


class ToolFailedError(Exception):
    """A tool said that it failed."""


def function_name(server: str, tool: str) -> str:
    """`server_tool`, with what no name in Python can have as `_`."""
    name = re.sub(r"\W", "_", f"{server}_{tool}", flags=re.ASCII).lstrip("_")
    return f"tool_{name}" if not name or name[0].isdigit() else name


def describe_tool(name: str, doc: str, schema: Mapping[str, Any], output: Mapping[str, Any] | None) -> Description:
    """A tool as cells see it. What a server says is data: what does not fit is passed over.

    Args:
        name: The function's name.
        doc: What the server says of the tool.
        schema: The JSON schema of its arguments.
        output: The JSON schema of what it gives, if it names one.
    """
    said = schema.get("properties")
    properties = (
        {key: value if isinstance(value, dict) else {} for key, value in said.items()} if isinstance(said, dict) else {}
    )
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) and all(isinstance(one, str) for one in required) else set()
    named = [key for key in properties if isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)]
    parameters = [
        Parameter(
            key, annotation=type_text(properties[key]), optional=key not in needed, default=_default(properties[key])
        )
        for key in sorted(named, key=lambda key: key not in needed)
    ]
    if len(named) < len(properties) or (not properties and schema.get("additionalProperties", True)):
        parameters.append(Parameter("others", "VAR_KEYWORD"))
    lines = [
        f"    {key}: {' '.join(str(value['description']).split())[:MAX_PARAMETER_DOC]}"
        for key, value in properties.items()
        if value.get("description")
    ]
    text = "\n".join([doc.strip(), "", "Args:", *lines] if lines else [doc.strip()])
    returns = type_text(_unwrapped(output)) if output else ""
    return Description(name, whole_text(text[:MAX_DOC]).strip(), tuple(parameters), returns)


def type_text(schema: Any) -> str:
    """A JSON schema as an annotation; empty when it says nothing that is short."""
    if not isinstance(schema, dict):
        return ""
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list) and len(repr(schema["enum"])) < 100:
        return f"Literal[{', '.join(repr(one) for one in schema['enum'])}]"
    if isinstance(kind, list):
        return " | ".join(dict.fromkeys(TYPES[one] for one in kind if one in TYPES))
    if isinstance(schema.get("anyOf"), list):
        parts = [type_text(one) for one in schema["anyOf"]]
        return " | ".join(dict.fromkeys(parts)) if all(parts) else ""
    if kind == "array" and (item := type_text(schema.get("items"))):
        return f"list[{item}]"
    return TYPES.get(kind, "") if isinstance(kind, str) else ""


def _default(schema: Mapping[str, Any]) -> Any:
    default = schema.get("default", ...)
    return default if default is ... or is_finite(default) else ...


def _unwrapped(schema: Mapping[str, Any]) -> Any:
    """The schema of the value itself; servers put what is no object into one with the only key `result`."""
    properties = schema.get("properties")
    return properties["result"] if isinstance(properties, dict) and set(properties) == {"result"} else schema


def given(result: Any, output: Mapping[str, Any] | None) -> Any:
    """What a tool gave, as JSON; text where it gave no structure.

    Raises:
        ToolFailedError: it failed.
    """
    texts = [_content(block) for block in result.content]
    if result.is_error:
        raise ToolFailedError("\n".join(texts)[:2_000] or "the tool failed and said nothing")
    value = result.structured_content
    if value is not None:
        wrapped = output is not None and _unwrapped(output) is not output
        return value["result"] if wrapped and isinstance(value, dict) and set(value) == {"result"} else value
    return texts[0] if len(texts) == 1 else texts or None


def _content(block: Any) -> str:
    text = getattr(block, "text", None)
    if not isinstance(text, str):
        text = getattr(getattr(block, "resource", None), "text", None)
    return text if isinstance(text, str) else f"({getattr(block, 'type', 'something')} left out)"
