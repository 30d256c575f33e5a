"""Rules of a spec, each declared once: CEL for the API server, and the same check in Python for the reconciler.

The API server checks a rule at apply time, so that ``--dry-run=server`` tells, and only what a write changes
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting).
An object that was stored before a rule existed is parsed as it was, and the reconciler says the same in a condition
(:func:`freehold.api.parse.broken_rules`). Each rule refuses what upstream's webhook refuses, or what the cloud refuses
wherever upstream sends it, so every manifest that makes a cluster upstream is accepted. The tables are
:mod:`freehold.providers.aws.types.rules` and :mod:`freehold.providers.ibm.powervs.types.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from freehold.api.base import ApiModel, ApiRule, Broken

LIST_LIMIT: Final = 250
"""Entries of a list that a rule reads: above the quotas of both clouds, within the API server's budget for rules
(docs/reference/kubernetes.md#crd-schemas)."""
TEXT_LIMIT: Final = 256
"""Characters of a zone, a region, an address or a range: none has a tenth of it."""

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
ADDRESS: Final = f"({_OCTET}[.]){{3}}{_OCTET}"
RANGE: Final = f"{ADDRESS}/(3[0-2]|[12]?[0-9])"


def schema_only(rule: ApiRule) -> ApiRule:
    """Leave a rule to the API server: the reconciler knows more, or does not act on the field."""
    return replace(rule, find=None)


def reconciler_only(rule: ApiRule) -> ApiRule:
    """Leave a rule to the reconciler: it is beyond the API server's budget."""
    return replace(rule, cel="")


@cache
def _attributes(model: type[ApiModel]) -> dict[str, str]:
    return {info.alias or name: name for name, info in model.model_fields.items()}


def value_at(value: Any, path: str) -> Any:
    """Return what is at a path of JSON names below a parsed value; None where a step is absent."""
    for step in path.split(".") if path else ():
        value = getattr(value, _attributes(type(value))[step]) if isinstance(value, ApiModel) else None
    return value


def require(cel: str, message: str, holds: Callable[[Any], bool], field: str = "", *, of: str = "") -> ApiRule:
    """Make a rule of its CEL and the same in Python; a wrong value is shown in place of ``{it}``.

    ``field`` is where it is told.
    """
    path = f".{field}" if field else ""

    def find(value: Any) -> Iterable[Broken]:
        return () if holds(value) else (Broken(path, _show(value_at(value, field))),)

    return ApiRule(cel, message, field=path, of=of, find=find)


def _show(value: Any) -> str:
    return repr(value) if isinstance(value, str) else "it"


@dataclass(frozen=True)
class Format:
    """How a text is written, what is said of another one, and what the reconciler asks of it besides."""

    pattern: str
    message: str
    is_legal: Callable[[str], bool] = lambda text: True

    def fits(self, text: str) -> bool:
        """Return whether a text is written so."""
        return re.fullmatch(self.pattern, text) is not None and self.is_legal(text)


def require_format(field: str, form: Format, *, unless: str = "") -> ApiRule:
    """Make the rule that a text is empty or has a format; ``unless`` is a field that makes it idle."""
    idle = f"has(self.{unless}) || " if unless else ""

    def holds(value: Any) -> bool:
        text = value_at(value, field)
        return not text or (unless != "" and value_at(value, unless) is not None) or form.fits(text)

    cel = f"{idle}!has(self.{field}) || self.{field}.matches('^({form.pattern})?$')"
    return require(cel, form.message, holds, field)


def require_formats(field: str, form: Format) -> ApiRule:
    """Make the rule that every text of a list has a format."""

    def find(value: Any) -> Iterable[Broken]:
        texts = enumerate(value_at(value, field))
        return (Broken(f".{field}[{index}]", _show(text)) for index, text in texts if not form.fits(text))

    cel = f"!has(self.{field}) || self.{field}.all(c, c.matches('^({form.pattern})$'))"
    return ApiRule(cel, form.message, field=f".{field}", find=find)


def require_unique(of: str, field: str, message: str) -> ApiRule:
    """Make the rule that no two items of the list ``of`` have the same ``field``."""

    def find(items: Any) -> Iterable[Broken]:
        seen: dict[str, int] = {}
        for index, value in enumerate(value_at(each, field) for each in items):
            if value and seen.setdefault(value, index) != index:
                message = f"{{it}} is used by {{at}}[{seen[value]}].{field} too; rename one"
                yield Broken(f"[{index}].{field}", _show(value), message)

    cel = f"self.all(a, !has(a.{field}) || self.exists_one(b, has(b.{field}) && b.{field} == a.{field}))"
    return ApiRule(cel, message, of=of, find=find)


def none_of(*fields: str) -> str:
    """Return the expression that no list of these has an entry."""
    return " && ".join(f"(!has(self.{field}) || size(self.{field}) == 0)" for field in fields)


def present(path: str) -> str:
    """Return the expression that a path of fields, from ``self`` or ``oldSelf``, is there."""
    return " && ".join(f"has({each})" for each in _steps(path))


def absent(path: str) -> str:
    """Return the expression that a path of fields is not there."""
    return " || ".join(f"!has({each})" for each in _steps(path))


def _steps(path: str) -> list[str]:
    root, *rest = path.split(".")
    return [".".join([root, *rest[: n + 1]]) for n in range(len(rest))]


def require_kept(field: str, message: str) -> ApiRule:
    """Make the rule that a field has, or lacks, the value that it had."""
    same = f"(!has(self.{field}) || self.{field} == oldSelf.{field})"
    return ApiRule(f"has(self.{field}) == has(oldSelf.{field}) && {same}", message, field=f".{field}")
