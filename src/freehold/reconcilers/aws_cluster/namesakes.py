"""Whether another cluster of our cluster's name is in this account and region. Pure.

To CAPA, the cloud controller and its collector two clusters of one name are one: each would delete what the other has.
The tag with the name proves nothing about whose a resource is, so it is never a reason to use or to delete it.
"""

from __future__ import annotations

from collections.abc import Sequence

from freehold.clouds.aws.capa_tags import cluster_key
from freehold.lifecycle.reasons import Reason
from freehold.reconcilers.adapter import Refused
from freehold.reconcilers.answers import NoAnswer
from freehold.reconcilers.aws_cluster.facts import Facts, Namesake
from freehold.reconcilers.findings import Problem, SpecWarning

MOST_NAMED = 10


def refusal(cluster: str, region: str, facts: Facts, notes: tuple[SpecWarning, ...]) -> Refused | NoAnswer | None:
    """None where the name is free, where it is ours by what is there, or where the question does not arise.

    An object that was restored has nothing on record, and its machines have CAPA's tag without our marks.
    """
    if facts.namesakes is None or isinstance(facts.namesakes, NoAnswer):
        return facts.namesakes
    if not (found := facts.namesakes.value) or any(each.ours for each in found):
        return None
    message = (
        f"{cluster!r} is the name of another cluster in {region}: {_listed(found)} "
        f"{'have' if len(found) > 1 else 'has'} the tag {cluster_key(cluster)} and not this object's mark; "
        "nothing is created. Choose another name, or delete that cluster first"
    )
    return Refused((Problem("metadata.name", message),), notes, reason=Reason.NAME_TAKEN.value)


def _listed(found: Sequence[Namesake]) -> str:
    named = sorted(f"{each.arn} (of {each.owner})" if each.owner else each.arn for each in found)
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return ", ".join(named[:MOST_NAMED]) + more
