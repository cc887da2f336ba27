"""Compares what a problem's reference code left in this session with what a step of the answering thread holds.

It runs in a sandbox of its own. The reference code is run there in the real `__main__`; the answering thread's
variables are read with `steps[N]`, so that they are nowhere but behind the wall.
"""

import ast
import copy
import io
import json
import random
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import __main__

from .matching import difference, unchanged

LAST = "_"
"""Holds the value of the last expression."""
SAID = 300
SHARED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, io.IOBase)
"""What is not copied: code does not change it in passing."""


class UncheckedError(Exception):
    """The problem cannot be checked here; says why."""


class WrongError(Exception):
    """The answer is wrong; says how."""


class Reference:
    """What the reference code of the problem at hand found and left."""

    before: dict[str, Any]
    ids: dict[str, int]


def _variables() -> dict[str, Any]:
    return {name: value for name, value in vars(__main__).items() if name != LAST and not name.startswith("__")}


def begin() -> None:
    """Remember the variables that the reference code finds, before it runs."""
    vars(__main__).pop(LAST, None)
    found = _variables()
    Reference.ids = {name: id(value) for name, value in found.items()}
    Reference.before = {name: _copied(value) for name, value in found.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, SHARED):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # copying runs the code of what is copied
        return value


def _changes_of_reference() -> dict[str, str]:
    after, changes = _variables(), {}
    for name, value in Reference.before.items():
        if name not in after:
            changes[name] = "deleted"
        elif id(after[name]) != Reference.ids[name] or not unchanged(value, after[name]):
            changes[name] = "updated"
    return changes


class Answer:
    """What the answering thread held before and after its turn.

    Args:
        given: `before`, `after`: its steps; `failed`, `valued`: of the turn's last cell; `code`: its cells.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.failed: str = given["failed"]
        self.valued: bool = given["valued"]
        self.code: list[str] = given["code"]
        self._before, self._after = (self._step(given[which]) for which in ("before", "after"))

    def _step(self, number: int) -> Any:
        if not number:
            return {}
        try:
            return steps[number]  # type: ignore[name-defined]  # noqa: F821 - a builtin of the session
        except (KeyError, OSError) as error:
            raise UncheckedError(f"step {number} cannot be read: {error}") from None

    def has(self, name: str) -> bool:
        """Whether the variable is there."""
        return name in self._after

    def variable(self, name: str) -> Any:
        """A variable after the turn."""
        return _read(self._after, name)

    def changes(self) -> dict[str, str]:
        """What became of the variables; those that were not kept cannot be told."""
        found: dict[str, str] = {}
        before, after = set(self._before), set(self._after)
        found |= dict.fromkeys(after - before, "added")
        found |= dict.fromkeys(before - after, "deleted")
        for name in before & after:
            try:
                values = self._before[name], self._after[name]
            except KeyError:
                continue
            if not unchanged(*values):
                found[name] = "updated"
        return found


def _read(step: Any, name: str) -> Any:
    try:
        return step[name]
    except KeyError as error:
        raise UncheckedError(f"{'its value' if name == LAST else name} cannot be read: {error}") from None


def judge(spec: str, given: str) -> str:
    """Check a problem: JSON with `wrong` and `unchecked`, both empty where the answer is right.

    Args:
        spec: Its validators, JSON.
        given: What `Answer` takes, and `forbidden`: names that its cells may not use; JSON.
    """
    told = json.loads(given)
    said = {"wrong": "", "unchecked": ""}
    try:
        _no_forbidden(told["code"], told["forbidden"])
        _check(json.loads(spec), Answer(told))
    except UncheckedError as error:
        said["unchecked"] = _short(str(error))
    except WrongError as error:
        said["wrong"] = _short(str(error))
    except Exception as error:
        said["unchecked"] = _short(f"the check itself failed: {type(error).__name__}: {error}")
    return json.dumps(said)


def _short(text: str) -> str:
    return " ".join(text.split())[:SAID]


def _no_forbidden(codes: list[str], forbidden: list[str]) -> None:
    for code in codes:
        try:
            names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
        except SyntaxError:
            continue
        if used := sorted(names & set(forbidden)):
            raise WrongError(f"it uses {used[0]}, which it may not")


def _check(validator: list[Any], answer: Answer) -> None:
    kind, needs = validator
    CHECKS[kind](needs, answer)


def _every(validators: list[list[Any]], answer: Answer) -> None:
    unchecked: UncheckedError | None = None
    for one in validators:
        try:
            _check(one, answer)
        except UncheckedError as error:
            unchecked = unchecked or error
    if unchecked is not None:
        raise unchecked


def _any(validators: list[list[Any]], answer: Answer) -> None:
    wrong: list[str] = []
    unchecked: UncheckedError | None = None
    for one in validators:
        try:
            _check(one, answer)
            return
        except WrongError as error:
            wrong.append(str(error))
        except UncheckedError as error:
            unchecked = error
    raise unchecked or WrongError("; ".join(wrong))


def _crash(_: Any, answer: Answer) -> None:
    if answer.failed:
        raise WrongError(f"its last cell failed: {answer.failed}")


def _intact(needs: Mapping[str, Any], answer: Answer) -> None:
    allowed = dict.fromkeys(("added", "updated", "deleted"))
    allowed |= {"added": needs.get("addition", True), "updated": needs.get("update"), "deleted": needs.get("deletion")}
    reference = _changes_of_reference()
    for name, change in sorted(answer.changes().items()):
        may = allowed[change]
        if may is None:
            may = [one for one, how in reference.items() if how == change]
        if may is False or (isinstance(may, list) and name not in may):
            raise WrongError(f"{name} was {change}")


def _result(how: Mapping[str, Any], answer: Answer) -> None:
    right = vars(__main__).get(LAST)
    if right is None:
        return
    if not answer.valued:
        raise WrongError("its last cell ends without a value")
    _compare(right, answer.variable(LAST), how, "the value")


def _namespace(names: Mapping[str, Any], answer: Answer) -> None:
    for name, how in names.items():
        if name not in vars(__main__):
            raise UncheckedError(f"the reference code makes no {name}")
        if not answer.has(name):
            raise WrongError(f"there is no variable {name}")
        _compare(vars(__main__)[name], answer.variable(name), how, name)


def _compare(right: Any, found: Any, how: Mapping[str, Any], what: str) -> None:
    if "code" not in how:
        try:
            said = difference(right, found, how)
        except Exception as error:  # what is compared can be of any class
            said = f"it cannot be compared ({type(error).__name__}: {error})"
    else:
        compare = _run(how["code"]).get("compare_fn")
        if not callable(compare):
            raise UncheckedError("its code defines no compare_fn")
        try:
            matched = compare(right, found)
            said = "" if matched["match"] else matched.get("reason") or "it does not match"
        except Exception as error:  # a comparison that does not fit what was found says that it is something else
            said = f"{type(error).__name__}: {error}"
    if said:
        raise WrongError(f"{what}: {said}")


def _run(code: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"pd": pd, "np": np, "random": random}
    try:
        exec(code, namespace)
    except Exception as error:
        raise UncheckedError(f"its code fails: {type(error).__name__}: {error}") from None
    return namespace


def _model(needs: Mapping[str, Any], answer: Answer) -> None:
    name, main = needs["model_name"], vars(__main__)
    if not answer.has(name):
        raise WrongError(f"there is no variable {name}")
    try:
        inputs, labels = main[needs["inputs_name"]], main[needs["labels_name"]]
        right = main[name].predict(inputs)
    except Exception as error:
        raise UncheckedError(f"the reference's model cannot predict: {type(error).__name__}: {error}") from None
    model = answer.variable(name)
    try:
        found = model.predict(inputs)
    except Exception as error:
        raise WrongError(f"{name} cannot predict: {type(error).__name__}: {error}") from None
    for metric, tolerance in zip(needs["metrics"], needs["tolerances"], strict=True):
        try:
            aim, reached = _metric(metric, labels, right), _metric(metric, labels, found)
        except ImportError as error:
            raise UncheckedError(str(error)) from None
        except ValueError as error:
            raise WrongError(f"{metric} cannot be computed: {error}") from None
        border = (1 + tolerance) * aim
        fits = np.isclose(reached, aim) if not tolerance else reached <= border if tolerance > 0 else reached >= border
        if not fits:
            raise WrongError(f"{metric} is {reached:.4g}, the reference's {aim:.4g}")


def _metric(name: str, labels: Any, predicted: Any) -> float:
    from sklearn import metrics

    if name in ("mse", "rmse"):
        squared = float(metrics.mean_squared_error(labels, predicted))
        return squared if name == "mse" else squared**0.5
    return float(getattr(metrics, f"{name}_score")(labels, predicted))


def _table(needs: Mapping[str, Any], answer: Answer) -> None:
    name = needs["function"]
    right = vars(__main__).get(name)
    if not callable(right):
        raise UncheckedError(f"the reference code makes no function {name}")
    if not answer.has(name):
        raise WrongError(f"there is no function {name}")
    found = answer.variable(name)
    for number, case in enumerate(_cases(needs["cases"], needs["valid"]), 1):
        inputs, others = copy.deepcopy(case), copy.deepcopy(case)
        try:
            output = _called(right, inputs)
        except Exception as error:
            raise UncheckedError(f"the reference fails in case {number}: {type(error).__name__}: {error}") from None
        try:
            answered = _called(found, others)
        except Exception as error:
            raise WrongError(f"{name} fails in case {number}: {type(error).__name__}: {error}") from None
        if needs["inputs"] is not None:
            _compare(inputs, others, needs["inputs"], f"what {name} made of its inputs in case {number}")
        _compare(output, answered, needs["outputs"], f"{name} in case {number}")


def _called(function: Callable[..., Any], case: Any) -> Any:
    return function(**case) if isinstance(case, dict) else function(*case)


def _cases(given: list[Any], valid: str) -> list[Any]:
    """The arguments of each call; `//` makes the case before it anew, with another seed."""
    accepts = _run(valid).get("_validate") if valid else None
    found: list[Any] = []
    last: Any = None
    for number, case in enumerate(given):
        random.seed(number)
        np.random.seed(number)
        last = last if case == "//" else case
        made = tuple(_made(one) for one in last) if isinstance(last, list) else _made(last)
        if not isinstance(made, tuple | dict):
            raise UncheckedError(f"case {number + 1} makes neither arguments nor names of them")
        if accepts is not None:
            _accepted(accepts, made, number)
        found.append(made)
    return found


def _accepted(accepts: Callable[..., Any], case: Any, number: int) -> None:
    try:
        if _called(accepts, case) is not False:
            return
        why = "refused"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    raise UncheckedError(f"case {number + 1} does not fit the problem's own rules ({why})")


def _made(given: Any) -> Any:
    """A value that is written as an expression between backticks, as code in a block, or as it is."""
    text = given.strip() if isinstance(given, str) else ""
    if text.startswith("```\n") and text.endswith("```"):
        namespace = _run(text[4:-3])
        if "_test_case" in namespace:
            return namespace["_test_case"]
        if callable(make := namespace.get("_generate")):
            return make()
        raise UncheckedError("the code of a case defines neither _test_case nor _generate")
    if len(text) > 1 and text.startswith("`") and text.endswith("`"):
        return _run(f"_value = {text[1:-1]}")["_value"]
    return given


CHECKS: dict[str, Callable[[Any, Answer], None]] = {
    "and": _every,
    "or": _any,
    "crash": _crash,
    "namespace_intact": _intact,
    "result": _result,
    "namespace_check": _namespace,
    "model": _model,
    "table_test": _table,
}
