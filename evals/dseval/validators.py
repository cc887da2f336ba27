"""Reads what a problem of DSEval has checked, and names what is not known, so that nothing is guessed."""

import json
from collections.abc import Mapping
from typing import Any

DEFAULT = "comparison"
TEMPLATES: dict[str, tuple[str, ...]] = {
    "empty": (),
    "basic": ("crash",),
    "intact": ("crash", "namespace_intact"),
    "comparison": ("crash", "namespace_intact", "result"),
}
"""The validators that a problem has without naming them."""
FLAGS = frozenset({"ignore_order", "ignore_index", "ignore_names", "ignore_dtypes"}) | {
    "type_only",
    "value_only",
    "strict_type",
}
TOLERANCES = frozenset({"atol", "rtol", "metrictol"})
METRICS = frozenset({"accuracy", "precision", "recall", "f1", "roc_auc", "r2", "mse", "rmse"})
TABLE_FIELDS = frozenset({"function_name", "test_cases", "input_validator", "input_checker", "output_checker"})
MODEL_FIELDS = frozenset({"model_name", "inputs_name", "labels_name", "metric_type", "tolerance"})

Validator = list[Any]
"""A kind and what it needs, JSON-shaped; of `and` and `or` a list of validators."""


class UnsupportedError(Exception):
    """A validator is not known, or asks for what cannot be told from a session that was kept; says which."""


def read_validators(given: Any) -> Validator:
    """The validators of a problem, with those of its template.

    Args:
        given: What its header says under `validator`; None where it says nothing.

    Raises:
        UnsupportedError: one of them cannot be checked.
    """
    if not isinstance(given, Mapping | None):
        raise UnsupportedError("a validator that is no mapping")
    own = dict(given or {})
    template = own.pop("template", DEFAULT)
    if template not in TEMPLATES:
        raise UnsupportedError(f"the template {template!r}")
    wanted: dict[str, Any] = dict.fromkeys(TEMPLATES[template])
    for kind, needs in own.items():
        before = wanted.get(kind)
        wanted[kind] = {**before, **needs} if isinstance(before, Mapping) and isinstance(needs, Mapping) else needs
    read = _all("and", wanted)
    try:
        json.dumps(read, allow_nan=False)
    except (TypeError, ValueError):
        raise UnsupportedError("a validator with a value that JSON does not have") from None
    return read


def _all(kind: str, wanted: Any) -> Validator:
    if not isinstance(wanted, Mapping):
        raise UnsupportedError(f"`{kind}` without a mapping of validators")
    return [kind, [_one(str(name), needs) for name, needs in wanted.items()]]


def _one(kind: str, needs: Any) -> Validator:
    match kind:
        case "and" | "or":
            return _all(kind, needs)
        case "crash" if not needs:
            return [kind, {}]
        case "namespace_intact":
            return [kind, _intact(needs)]
        case "result":
            return [kind, _comparison(needs, kind)]
        case "namespace_check" if isinstance(needs, Mapping) and needs:
            return [kind, {str(name): _comparison(how, f"{kind} of {name}") for name, how in needs.items()}]
        case "model" if isinstance(needs, Mapping):
            return [kind, _model(needs)]
        case "table_test" if isinstance(needs, Mapping):
            return [kind, _table(needs)]
    raise UnsupportedError(f"the validator `{kind}`")


def _intact(needs: Any) -> dict[str, Any]:
    given = dict(needs or {})
    if unknown := set(given) - {"addition", "update", "deletion"}:
        # `replacement` tells a variable that was bound anew from one that was changed: a kept session does not.
        raise UnsupportedError(f"`namespace_intact` with {', '.join(sorted(unknown))}")
    for name, allowed in given.items():
        if not isinstance(allowed, bool | list | None):
            raise UnsupportedError(f"`namespace_intact` with {name} that is no list and no truth value")
    return given


def _comparison(how: Any, where: str) -> dict[str, Any]:
    """How two values are compared: `{"code": …}` that defines `compare_fn`, or options."""
    if isinstance(how, str):
        return {"code": how}
    if not isinstance(how, Mapping | None):
        raise UnsupportedError(f"`{where}` that is no mapping and no code")
    given = dict(how or {})
    if set(given) == {"compare_fn"}:
        return _comparison(given["compare_fn"], where)
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name in FLAGS and isinstance(value, bool):
            options[name] = value
        elif name in TOLERANCES:
            options[name] = _number(value, f"{where} with {name}")
        else:
            raise UnsupportedError(f"`{where}` with {name}")
    return options


def _number(value: Any, where: str) -> float:
    try:  # YAML takes 1e-9 for a text
        return float(value)
    except (TypeError, ValueError):
        raise UnsupportedError(f"`{where}` that is no number") from None


def _model(needs: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(needs) - MODEL_FIELDS:
        raise UnsupportedError(f"`model` with {', '.join(sorted(unknown))}")
    names = {name: needs.get(name) for name in ("model_name", "inputs_name", "labels_name")}
    metrics = needs.get("metric_type")
    metrics = metrics if isinstance(metrics, list) else [metrics]
    if not all(isinstance(name, str) for name in names.values()) or not set(metrics) <= METRICS:
        raise UnsupportedError("`model` with a name or a metric that is not known")
    tolerance = needs.get("tolerance", 0.0)
    tolerances = tolerance if isinstance(tolerance, list) else [tolerance] * len(metrics)
    if len(tolerances) != len(metrics):
        raise UnsupportedError("`model` with other numbers of metrics and tolerances")
    return {**names, "metrics": metrics, "tolerances": [_number(one, "model with tolerance") for one in tolerances]}


def _table(needs: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(needs) - TABLE_FIELDS:
        raise UnsupportedError(f"`table_test` with {', '.join(sorted(unknown))}")
    name, cases, check = needs.get("function_name"), needs.get("test_cases"), needs.get("input_validator")
    if not isinstance(name, str) or not isinstance(cases, list) or not cases or not isinstance(check, str | None):
        raise UnsupportedError("`table_test` without a function or cases")
    before = needs.get("input_checker")
    return {
        "function": name,
        "cases": cases,
        "valid": check or "",
        "inputs": None if before is False else _comparison(None if before is True else before, "input_checker"),
        "outputs": _comparison(needs.get("output_checker"), "output_checker"),
    }
