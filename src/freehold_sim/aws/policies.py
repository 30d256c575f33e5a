"""IAM policies: whether a document allows an action on a resource.

Evaluation: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

import json
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

Context = Mapping[str, list[str]]
"""Condition keys in lower case (`aws:resourcetag/Owner` keeps the case of the tag key), each with its values."""

_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda have, want: have == want,
    "StringEqualsIgnoreCase": lambda have, want: have.lower() == want.lower(),
    "StringLike": lambda have, want: matches(have, want),
    "ArnEquals": lambda have, want: matches(have, want),
    "ArnLike": lambda have, want: matches(have, want),
    "Bool": lambda have, want: have.lower() == want.lower(),
}
_NEGATIVE = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}


def matches(text: str, pattern: str) -> bool:
    """Whether `text` matches a pattern of IAM: `*` and `?` are wildcards, nothing else is."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def parse(text: str) -> dict[str, Any]:
    """Return a policy document; raises ValueError for one that is malformed or uses an operator not known here."""
    document = json.loads(text)
    if not isinstance(document, dict) or "Statement" not in document:
        raise ValueError("a policy document has a Statement")
    for statement in _listed(document["Statement"]):
        if not isinstance(statement, dict) or statement.get("Effect") not in {"Allow", "Deny"}:
            raise ValueError("the Effect of a statement is Allow or Deny")
        if not ("Action" in statement or "NotAction" in statement):
            raise ValueError("a statement has an Action")
        for operator in statement.get("Condition", {}):
            _operator(operator)
    return document


def decide(document: Mapping[str, Any], action: str, resource: str, context: Context) -> str:
    """Return `Allow`, `Deny` (explicit) or "" (nothing in the document applies)."""
    effects = {s["Effect"] for s in _listed(document["Statement"]) if _applies(s, action, resource, context)}
    return "Deny" if "Deny" in effects else "Allow" if "Allow" in effects else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _applies(statement: Mapping[str, Any], action: str, resource: str, context: Context) -> bool:
    if "Action" in statement:
        named = any(matches(action.lower(), each.lower()) for each in _listed(statement["Action"]))
    else:
        named = not any(matches(action.lower(), each.lower()) for each in _listed(statement["NotAction"]))
    if not named:
        return False
    if "NotResource" in statement:
        if any(matches(resource, each) for each in _listed(statement["NotResource"])):
            return False
    elif not any(matches(resource, each) for each in _listed(statement.get("Resource", "*"))):
        return False
    return all(
        _holds(operator, key, _listed(wanted), context)
        for operator, keys in statement.get("Condition", {}).items()
        for key, wanted in keys.items()
    )


def _operator(name: str) -> tuple[str, str, bool]:
    """Return the set prefix, the operator and whether it ends in IfExists; raises ValueError if it is not known."""
    prefix, colon, rest = name.rpartition(":")
    base = rest.removesuffix("IfExists")
    if base not in _TESTS and base not in _NEGATIVE and base != "Null":
        raise ValueError(f"the condition operator {name} is not served by this simulator")
    if colon and prefix not in {"ForAllValues", "ForAnyValue"}:
        raise ValueError(f"{name} is not a condition operator")
    return prefix, base, base != rest


def _holds(operator: str, key: str, wanted: Iterable[str], context: Context) -> bool:
    prefix, base, if_exists = _operator(operator)
    have = context.get(_folded(key))
    if base == "Null":
        return (have is None) == (str(next(iter(wanted))).lower() == "true")
    if have is None:
        return if_exists or prefix == "ForAllValues" or base in _NEGATIVE
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in wanted]
    test = _TESTS[_NEGATIVE.get(base, base)]
    hits = [any(test(value, text) for text in texts) for value in have]
    if base in _NEGATIVE:
        hits = [not hit for hit in hits]
    return all(hits) if prefix == "ForAllValues" else any(hits)


def _folded(key: str) -> str:
    """Return a condition key with its name in lower case; what follows a slash is a tag key and keeps its case."""
    name, slash, tag = key.partition("/")
    return f"{name.lower()}{slash}{tag}"
