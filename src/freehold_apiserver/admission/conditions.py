"""``matchConditions``: CEL over the request, which decides whether a webhook is called.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freehold_apiserver import errors
from freehold_apiserver.admission.attributes import Attributes
from freehold_apiserver.cel_functions import FUNCTIONS
from freehold_apiserver.cel_rules import compile_expression
from freehold_apiserver.store import Json

if TYPE_CHECKING:
    import cel

VARIABLES = ("object", "oldObject", "request")
"""``authorizer`` is missing: there is no authorization here."""


@dataclass(frozen=True)
class Condition:
    """One compiled condition."""

    expression: str
    program: cel.Program


def compile_conditions(given: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    """Compile conditions. Raises ValueError for one that cannot be evaluated here."""
    return tuple(Condition(each["expression"], compile_expression(each["expression"], VARIABLES)) for each in given)


def conditions_hold(conditions: Sequence[Condition], asked: Attributes, request: Json, *, fails_open: bool) -> bool:
    """Tell whether all conditions hold. One that is false decides; one that fails is left to the failure policy.

    ``request`` is that of the review. Raises 403 for a condition that fails, unless the webhook ``fails_open``.
    """
    import cel  # only where there are conditions

    # Objects are untyped here, as upstream: they may not have been validated yet.
    variables = {name: value for name, value in request.items() if name in ("object", "oldObject")}
    variables["request"] = {name: value for name, value in request.items() if name not in variables}
    context = cel.Context(variables, dict(FUNCTIONS))
    failed = []
    for each in conditions:
        try:
            outcome = each.program.execute(context)
        except (ValueError, RuntimeError, TypeError, KeyError) as problem:
            failed.append(f"expression '{each.expression}' resulted in error: {str(problem).splitlines()[0]}")
            continue
        if outcome is False:
            return False
        if outcome is not True:
            failed.append(f"expression '{each.expression}' resulted in error: it is no bool")
    if not failed or fails_open:
        return not failed
    why = failed[0] if len(failed) == 1 else f"[{', '.join(failed)}]"
    raise errors.forbidden(asked.resource.group, asked.resource.plural, asked.name, why)
