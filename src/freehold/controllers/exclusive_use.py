"""Exclusive use: of a cluster's name in its account, and of what the spec gives to one object alone."""

from __future__ import annotations

from freehold.controllers.name_claims import NameClaims
from freehold.engine.errors import CloudError
from freehold.engine.inventory import OtherObjects
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Reason, outcome_of_error
from freehold.kube.resources import Json, key_of
from freehold.providers.objects.adapter import Desired, RefusedSpec, UndecidedSpec, WantedGraph
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.spec_problems import SpecProblem


async def claim_name(claims: NameClaims | None, raw: Json, journal: Journal, plan: Desired) -> Desired:
    """Claim the cluster name, unless the object has resources by its record or in the cloud: it keeps its name."""
    if (
        claims is None
        or not isinstance(plan, WantedGraph)
        or plan.known_before
        or journal.claimed
        or plan.holds_name
    ):  # fmt: skip
        return plan
    holder = await claims.claim_name(raw, journal.account)
    return plan if holder is None else claims.refuse_name(raw, journal.account, holder, plan)


async def refuse_shared(others: OtherObjects, raw: Json, journal: Journal, plan: Desired) -> Desired:
    """Refuse what is given to one object alone and is named by another one too: neither may use it."""
    if not isinstance(plan, WantedGraph) or plan.sole_use is None:
        return plan
    field, words = plan.sole_use.field, plan.sole_use.words
    try:
        named = await others.naming(journal.owner, words)
    except CloudError as error:
        outcome = outcome_of_error(error)
        return UndecidedSpec({field: NoAnswer(outcome.reason, outcome.message, outcome.after)}, plan.notes)
    if elsewhere := [each for each in named if each != str(key_of(raw))]:
        message = f"{', '.join(elsewhere)} names {words[0]} too, and only one object may use it; correct one of them"
        return RefusedSpec((SpecProblem(field, message),), plan.notes, Reason.AMBIGUOUS.value)
    return plan
