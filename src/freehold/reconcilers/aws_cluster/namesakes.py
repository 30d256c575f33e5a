"""Whether another cluster of our cluster's name is in this account and region. Pure.

To CAPA, the cloud controller and its collector two clusters of one name are one: each would delete what the other has.
The tag with the name proves nothing about whose a resource is, so it is never a reason to use or to delete it.
"""

from __future__ import annotations

from collections.abc import Sequence

from freehold.clouds.aws.arn import Arn
from freehold.clouds.aws.capa_tags import cluster_key
from freehold.lifecycle.ownership import UUID
from freehold.lifecycle.reasons import Reason
from freehold.reconcilers.adapter import Refused
from freehold.reconcilers.answers import NoAnswer
from freehold.reconcilers.aws_cluster.facts import Facts, Namesake
from freehold.reconcilers.findings import Problem, SpecWarning

MOST_NAMED = 10


def refusal(
    cluster: str, owner: str, region: str, facts: Facts, notes: tuple[SpecWarning, ...]
) -> Refused | NoAnswer | None:
    """None where the name is free, or where the question does not arise. ``owner``: the object's namespace/name."""
    if facts.namesakes is None or isinstance(facts.namesakes, NoAnswer):
        return facts.namesakes
    if not (found := facts.namesakes.value):
        return None
    have = "have" if len(found) > 1 else "has"
    uuids = {each.uuid for each in found}
    if {each.owner for each in found} == {owner} and len(uuids) == 1 and UUID.fullmatch(uuid := uuids.pop()):
        message = (
            f"{_listed(found)} in {region} {have} the marks of an earlier {owner} with uuid {uuid}: that object was "
            "lost, or is in another API server; nothing is created. If it was lost, delete this one and then: freehold "
            f"recover --uuid {uuid} --region {region}. If it is not: choose another name"
        )
    else:
        message = (
            f"{cluster!r} is the name of another cluster in {region}: {_listed(found, whose=True)} "
            f"{have} the tag {cluster_key(cluster)} and not this object's mark; nothing is created. Choose another "
            "name, or delete that cluster first"
        )
    return Refused((Problem("metadata.name", message),), notes, reason=Reason.NAME_TAKEN.value)


def _listed(found: Sequence[Namesake], *, whose: bool = False) -> str:
    """Account and region are those of the object."""
    named = sorted(
        f"{_short(each.arn)} (of {each.owner})" if whose and each.owner else _short(each.arn) for each in found
    )
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return ", ".join(named[:MOST_NAMED]) + more


def _short(text: str) -> str:
    arn = Arn.parse(text)
    return arn.resource if arn else text
