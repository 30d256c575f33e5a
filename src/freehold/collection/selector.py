"""Label selectors in Kubernetes' grammar: ``team=red,env in (test, dev),!keep``.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]
_Test = Callable[[Labels], bool]

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?P<key>(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME})"
_VALUE = rf"(?:{_NAME})?"
_SET = re.compile(rf"{_KEY}\s+(?P<op>in|notin)\s*\((?P<values>\s*{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)\)")
_EQUAL = re.compile(rf"{_KEY}\s*(?P<op>==|=|!=)\s*(?P<value>{_VALUE})")
_EXISTS = re.compile(rf"(?P<not>!?)\s*{_KEY}")
_ORDER = re.compile(rf"{_KEY}\s*(?P<op>[<>])\s*(?P<bound>-?[0-9]{{1,19}})")
_BETWEEN = re.compile(r",(?![^()]*\))")
_NUMBER = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True)
class Selector:
    """A parsed selector: all its tests must hold. Selectors of one text are equal."""

    text: str

    def __post_init__(self) -> None:
        _parse_tests(self.text)

    def matches(self, labels: Labels) -> bool:
        """Return whether an object with these labels is selected."""
        return all(test(labels) for test in _parse_tests(self.text))


def parse(text: str) -> Selector | None:
    """Read a selector; an empty one is None and selects everything. Raises ValueError with a sentence."""
    return Selector(text.strip()) if text.strip() else None


def _parse_tests(text: str) -> list[_Test]:
    return [_parse_test(part.strip()) for part in _BETWEEN.split(text)]


def _parse_test(part: str) -> _Test:
    """Parse one requirement. A missing label is unequal to any value."""
    if found := _SET.fullmatch(part):
        key, among, values = found["key"], found["op"] == "in", {each.strip() for each in found["values"].split(",")}
        return lambda labels: (labels.get(key) in values) is among
    if found := _EQUAL.fullmatch(part):
        key, value, equal = found["key"], found["value"], found["op"] != "!="
        return lambda labels: (labels.get(key) == value) is equal
    if found := _ORDER.fullmatch(part):
        key, bound, greater = found["key"], int(found["bound"]), found["op"] == ">"
        return lambda labels: _is_beyond(labels.get(key), bound, greater=greater)
    if found := _EXISTS.fullmatch(part):
        key, present = found["key"], not found["not"]
        return lambda labels: (key in labels) is present
    raise ValueError(f"{part!r} is no label requirement; write for example team=red, env in (test,dev) or !keep")


def _is_beyond(value: str | None, bound: int, *, greater: bool) -> bool:
    if value is None or not _NUMBER.fullmatch(value):
        return False
    return int(value) > bound if greater else int(value) < bound
