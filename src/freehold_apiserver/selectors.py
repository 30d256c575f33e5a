"""Label and field selectors: in query parameters, and as a LabelSelector in an object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from freehold_apiserver import errors
from freehold_apiserver.errors import FieldError
from freehold_apiserver.store import Json

Matches = Callable[[Json], bool]
Labels = Mapping[str, str]

_SET = re.compile(r"^(?P<key>[^\s!=,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^\s!=,()]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s!=,()]*)$")
_EXISTS = re.compile(r"^(?P<not>!?)\s*(?P<key>[^\s!=,()]+)$")
_ORDER = re.compile(r"^(?P<key>[^\s!=,()]+)\s*(?P<op>[<>])\s*(?P<value>-?[0-9]{1,19})$")


def by_labels(selector: str) -> Matches | None:
    """Equality- and set-based label selector; None when it is empty. Raises 400 on an invalid one."""
    tests = [_label_test(part, selector) for part in _split(selector)]
    if not tests:
        return None
    return lambda obj: _all(tests, obj["metadata"].get("labels") or {})


def by_fields(selector: str, supported: tuple[str, ...]) -> Matches | None:
    """Field selector over the given paths; None when it is empty. Raises 400 on any other path."""
    tests: list[tuple[str, str, bool]] = []
    for part in _split(selector):
        found = _EQUAL.match(part)
        if not found:
            raise errors.bad_request(
                f"invalid field selector {selector!r}: cannot read {part!r}; write name=value or name!=value"
            )
        if found["key"] not in supported:
            raise errors.bad_request(
                f"field label not supported: {found['key']} (this resource can be selected by: {', '.join(supported)})"
            )
        tests.append((found["key"], found["value"], found["op"] != "!="))
    if not tests:
        return None
    return lambda obj: all((_field(obj, path) == value) is wanted for path, value, wanted in tests)


def by_selector(selector: Json) -> Callable[[Labels], bool] | None:
    """Compile a valid LabelSelector; None selects everything."""
    tests = [_expression_test(key, "In", {value}) for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        tests.append(_expression_test(each["key"], each["operator"], set(each.get("values") or ())))
    return (lambda labels: all(test(labels) for test in tests)) if tests else None


def _expression_test(key: str, operator: str, values: set[str]) -> Callable[[Labels], bool]:
    match operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
    return lambda labels: key not in labels


def selector_errors(selector: Json, path: str) -> list[FieldError]:
    """Find what is wrong with a LabelSelector: k8s.io/apimachinery ``pkg/apis/meta/v1/validation``."""
    found = []
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        here, values = f"{path}.matchExpressions[{index}]", each.get("values") or ()
        if each.get("operator") in ("In", "NotIn"):
            if not values:
                why = "must be specified when `operator` is 'In' or 'NotIn'"
                found.append(FieldError.required(f"{here}.values", why))
        elif each.get("operator") not in ("Exists", "DoesNotExist"):
            found.append(FieldError.invalid(f"{here}.operator", each.get("operator"), "not a valid selector operator"))
        elif values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(FieldError.forbidden(f"{here}.values", why))
    return found


def both(first: Matches | None, second: Matches | None) -> Matches | None:
    if first and second:
        return lambda obj: first(obj) and second(obj)
    return first or second


def _all(tests: list[Callable[[Mapping[str, str]], bool]], labels: Mapping[str, str]) -> bool:
    return all(test(labels) for test in tests)


def _split(selector: str) -> list[str]:
    """Parts of a comma-separated selector; commas inside parentheses do not count."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", selector) if part.strip()]


def _label_test(part: str, selector: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, wanted = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != wanted
        return lambda labels: labels.get(key) == wanted
    if found := _ORDER.match(part):
        key, bound, greater = found["key"], int(found["value"]), found["op"] == ">"
        return lambda labels: _ordered(labels.get(key), bound, greater)
    if found := _EXISTS.match(part):
        key, absent = found["key"], bool(found["not"])
        return lambda labels: (key in labels) is not absent
    raise errors.bad_request(f"unable to parse requirement in label selector {selector!r}: {part!r}")


def _ordered(value: str | None, bound: int, greater: bool) -> bool:
    if value is None or not re.fullmatch(r"-?[0-9]{1,19}", value):
        return False
    return int(value) > bound if greater else int(value) < bound


def _field(obj: Json, path: str) -> str:
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else str(value)
