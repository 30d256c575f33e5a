"""Parser of a raw Kubernetes object to a typed spec; each error is a sentence with the field's path.

Objects that the API server validated parse without errors; errors come from objects stored under an older
schema or by a server without CEL. Users never see pydantic's own messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from freehold.api.base import ApiModel
from freehold.api.patterns import WORDS
from freehold.api.rules import value_at

M = TypeVar("M", bound=ApiModel)

_SHOWN = 60
"""The number of characters of a wrong value that a message shows."""


@dataclass(frozen=True)
class SpecProblem:
    """One error in the manifest: the field's path, and a message without the path."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def broken_rules(value: Any, at: str) -> Iterator[SpecProblem]:
    """Yield a problem for each rule that a parsed value breaks, in the order of its fields; ``at`` is its path.

    Parsing keeps such a value: it may have been stored before the rule existed (:mod:`freehold.api.rules`).
    """
    match value:
        case ApiModel():
            for rule in value.RULES:
                below = f"{at}.{rule.of}" if rule.of else at
                for broken in rule.find(value_at(value, rule.of)) if rule.find else ():
                    message = (broken.message or rule.message).format(it=broken.value, at=below)
                    yield SpecProblem(below + broken.field, message)
            for name, info in type(value).model_fields.items():
                inner = getattr(value, name)
                if inner and not isinstance(inner, str | int | float):  # nearly all are: nothing is in these
                    yield from broken_rules(inner, f"{at}.{info.alias or name}")
        case tuple():
            for index, item in enumerate(value):
                yield from broken_rules(item, f"{at}[{index}]")


class InvalidObject(ValueError):
    """An object that does not match its type. The text lists every problem."""

    def __init__(self, problems: tuple[SpecProblem, ...]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


def parse_spec(model: type[M], raw: Mapping[str, Any]) -> M:
    """Parse the spec of a raw object; an absent spec is an empty one. Raises ``InvalidObject``."""
    return parse(model, raw.get("spec"), at="spec")


def parse(model: type[M], value: Any, at: str) -> M:
    """Parse a raw value as ``model``; ``at`` is the path of the value in its object, for messages.

    A null counts as an absent field, as for the API server. Raises ``InvalidObject`` with every problem, in the
    order of the fields.
    """
    try:
        return model.model_validate(_remove_nulls({} if value is None else value))
    except ValidationError as error:
        problems = tuple(_build_problem(detail, at) for detail in error.errors(include_url=False))
    raise InvalidObject(problems)


def _remove_nulls(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _remove_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_remove_nulls(item) for item in value]
        case _:
            return value


def _build_problem(detail: ErrorDetails, at: str) -> SpecProblem:
    path = at
    for part in detail["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    context = detail.get("ctx", {})
    sentence = _SENTENCES.get(detail["type"], _describe_unknown)
    return SpecProblem(path + str(context.get("field", "")), sentence(context, detail["input"]))


def _describe_unknown(_: Mapping[str, Any], value: Any) -> str:
    return f"{_format_value(value)} is not accepted here"


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _SHOWN else f'"{value[:_SHOWN]}…"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return _name_type(value) if isinstance(value, dict | list) else str(value)


def _name_type(value: Any) -> str:
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "nothing"


def _require(wanted: str) -> Callable[[Mapping[str, Any], Any], str]:
    return lambda _, value: f"must be {wanted}, not {_name_type(value)}"


def _require_whole_number(_: Mapping[str, Any], value: Any) -> str:
    return f"must be a whole number, not {value if isinstance(value, float) else _name_type(value)}"


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _explain_too_short(context: Mapping[str, Any], value: Any) -> str:
    least = context["min_length"]
    return (
        "must not be empty"
        if least == 1
        else f"{_format_value(value)} must have at least {_format_count(least, 'character')}"
    )


def _explain_too_long(context: Mapping[str, Any], value: Any) -> str:
    length = _format_count(len(value), "character")
    return f"{_format_value(value)} has {length}; at most {context['max_length']} are allowed"


def _explain_pattern(context: Mapping[str, Any], value: Any) -> str:
    pattern = context["pattern"]
    return f"{_format_value(value)} is not accepted: {WORDS.get(pattern, f'it must match {pattern}')}"


def _explain_choice(context: Mapping[str, Any], value: Any) -> str:
    return f"must be {context['expected'].replace(chr(39), '')}, not {_format_value(value)}"


_SENTENCES: dict[str, Callable[[Mapping[str, Any], Any], str]] = {
    "missing": lambda _, __: "is required",
    "string_type": _require("a string"),
    "bool_type": _require("true or false"),
    "int_type": _require_whole_number,
    "tuple_type": _require("a list"),
    "dict_type": _require("an object"),
    "model_type": _require("an object"),
    "string_too_short": _explain_too_short,
    "string_too_long": _explain_too_long,
    "string_pattern_mismatch": _explain_pattern,
    "literal_error": _explain_choice,
    "greater_than_equal": lambda context, value: f"must be at least {context['ge']}, not {value}",
    "less_than_equal": lambda context, value: f"must be at most {context['le']}, not {value}",
    "too_long": lambda context, value: f"has {len(value)} entries; at most {context['max_length']} are allowed",
    "rule": lambda context, _: str(context["sentence"]),
}
"""The message for every kind of error that the types of this package can raise."""
