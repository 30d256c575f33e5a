"""The condition ``SpecValid``, of what an adapter decided about a spec."""

from __future__ import annotations

from collections.abc import Mapping

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.providers.objects.adapter import Desired, GraphMode, RefusedSpec, UndecidedSpec, WantedGraph
from freehold.providers.objects.spec_problems import join_problems


def list_unanswered(plan: Desired | None) -> Mapping[str, str]:
    """List the open questions of a delete, as sentences by the reason why there is no answer."""
    missing = plan.missing if isinstance(plan, UndecidedSpec) else {}
    return {answer.reason.value: f"{where}: {answer.message}" for where, answer in missing.items()}


def observe_spec(plan: Desired, frozen: Observation | None = None) -> Observation:
    """Build the condition ``SpecValid``; ``frozen`` is that of an object that must not change any more."""
    match plan:
        case RefusedSpec(problems=problems, reason=reason, in_condition=shorter):
            return Observation(names.SPEC_VALID, "False", reason, shorter or join_problems(problems))
        case UndecidedSpec(missing=missing):
            lines = "; ".join(f"{where}: cannot be checked: {answer.message}" for where, answer in missing.items())
            return Observation(names.SPEC_VALID, "Unknown", next(iter(missing.values())).reason.value, lines)
        case WantedGraph(mode=GraphMode.FROZEN) if frozen is not None:
            return frozen
    return Observation(names.SPEC_VALID, "True", names.REASON_VALID_SPEC)
