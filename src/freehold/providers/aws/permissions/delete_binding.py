"""Session policies: AWS itself then allows deletes only of what has one owner's uuid, or a mark of one cluster.

https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies.html#policies_session: a session may do what both one
of the role's policies and one of its session policies allow, and nothing that any of them denies. Deletes with a
condition on the tags of their resource: docs/reference/aws.md#permissions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.engine.keyed_codec import UUID
from freehold.providers.aws.permissions.policies import BOUND_ACTIONS, COLLECTED_ACTIONS

MOST_CHARACTERS = 2048
"""The most characters of a session's policies together; a managed one counts with its ARN
(https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html)."""
TOO_LARGE = "PackedPolicyTooLarge"
"""STS's code where policies and session tags, packed, are too large. No page says how to compute that."""


@dataclass(frozen=True)
class BoundPolicy:
    """The inline ``policy`` of a session whose deletes are bound to one owner, as JSON."""

    policy: str


@dataclass(frozen=True)
class NotBound:
    """The reason ``why`` no session can be bound, and what to do about it; for people."""

    why: str


def bind_to_owner(uuid: str, policy: str = "", policy_arns: Sequence[str] = ()) -> BoundPolicy | NotBound:
    """Bind a session's deletes to one owner, within ``policy`` and ``policy_arns``, the user's own.

    Where the user gives none, our policy allows these deletes and nothing else. Otherwise ours only denies: an allow of
    ours would add to what the user's policies allow.
    """
    return _bind({UUID: uuid}, BOUND_ACTIONS, policy, policy_arns)


def bind_to_marks(
    marks: Mapping[str, str], policy: str = "", policy_arns: Sequence[str] = ()
) -> BoundPolicy | NotBound:
    """Bind a session's deletes, for the collection, to resources with one of these tags, none of which is ours."""
    return _bind(marks, COLLECTED_ACTIONS, policy, policy_arns)


def _bind(
    marks: Mapping[str, str], actions: Sequence[str], policy: str, policy_arns: Sequence[str]
) -> BoundPolicy | NotBound:
    if not policy and not policy_arns:
        allows = [_statement("Allow", "StringEquals", {key: value}, actions) for key, value in marks.items()]
        return BoundPolicy(_text({"Version": _VERSION, "Statement": allows}))
    document = _document(policy) if policy else {"Version": _VERSION, "Statement": []}
    if document is None:
        return NotBound(
            "its spec.inlinePolicy is not a JSON object with statements, or repeats a name in an object, so nothing "
            "can be added to it. Correct it"
        )
    denies = _statement("Deny", "StringNotEquals", marks, actions)
    merged = _text({**document, "Statement": [*_statements(document), denies]})
    over = len(merged) + sum(map(len, policy_arns)) - MOST_CHARACTERS
    if over > 0:
        return NotBound(
            f"with the statement that would make AWS check, its session policies are {over} characters longer than the "
            f"{MOST_CHARACTERS} that STS takes (spec.inlinePolicy without white space, and the ARNs in "
            "spec.policyARNs). Shorten them by as much"
        )
    return BoundPolicy(merged)


def refused_by_sts() -> NotBound:
    """Return the reason for a session policy that STS refuses although it is not too long."""
    return NotBound(
        f"STS refuses its session policies with the statement that would make AWS check ({TOO_LARGE}). Shorten "
        "spec.inlinePolicy or spec.policyARNs; where session tags of its caller take the space, give it fewer and "
        "restart the operator"
    )


_VERSION = "2012-10-17"


def _statement(effect: str, operator: str, marks: Mapping[str, str], actions: Sequence[str]) -> dict[str, Any]:
    """Return a statement. A condition on several tags needs all; ``StringNotEquals`` is true of a missing tag too
    (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html)."""
    condition = {operator: {f"aws:ResourceTag/{key}": value for key, value in marks.items()}}
    return {"Effect": effect, "Action": list(actions), "Resource": "*", "Condition": condition}


def _document(policy: str) -> dict[str, Any] | None:
    """Return the policy; None if it breaks IAM's grammar, as far as that matters here.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
    """
    try:
        found = json.loads(policy, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "Statement" not in found:
        return None
    return found if all(isinstance(each, dict) for each in _statements(found)) else None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raise ValueError for a repeated name: AWS and we may differ on which of them counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _statements(document: Mapping[str, Any]) -> list[Any]:
    """Return the statements; a single one may stand without a list."""
    given = document["Statement"]
    return given if isinstance(given, list) else [given]


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
