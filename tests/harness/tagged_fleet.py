"""Resources, objects and plans for the tests of tagging, and a cloud that carries a plan out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.ibm.tag_dialect import IBM, ibm_tags
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.key_decision import LeaveReason, Rules
from freehold.tags.policy.ledger import ForeignValuePolicy, LedgerEntry, Proof, Record
from freehold.tags.policy.limits import LimitPolicy
from freehold.tags.policy.operations import Contradictions, Opcode, ParsedOperation, Wants, merge, operation
from freehold.tags.policy.plan import ResourcePlan, plan_on, terms
from freehold.tags.policy.precedence import Claim, Claimant
from freehold.tags.policy.resources import TaggedResource, single_valued

VOLUME = "arn:aws:ec2:eu-west-1:111122223333:volume/vol-1"
CRN = "crn:v1:bluemix:public:is:eu-de:a/1::subnet:1"


def volume(
    tags: Mapping[str, str], kind: str = "ec2:volume", arn: str = VOLUME, region: str = "eu-west-1"
) -> TaggedResource:
    return TaggedResource(arn, AWS, kind, "111122223333", region, single_valued(tags))


def subnet(*names: str, crn: str = CRN) -> TaggedResource:
    return TaggedResource(crn, IBM, "is:subnet", "1", "eu-de", ibm_tags(names))


def wants(*operations: ParsedOperation, cloud: TagDialect = AWS) -> Wants:
    merged = merge(cloud, operations)
    assert not isinstance(merged, Contradictions)
    return merged


def claim(
    *operations: ParsedOperation,
    name: str = "first",
    created: float = 1.0,
    limit: LimitPolicy = LimitPolicy.STRICT,
    foreign: ForeignValuePolicy = ForeignValuePolicy.TAKE_OVER,
    cloud: TagDialect = AWS,
) -> Claim:
    claimant = Claimant(created, f"uid-{name}", f"AWSMetadata ns/{name}")
    return Claim(claimant, wants(*operations, cloud=cloud), limit, foreign)


def add(**tags: str) -> ParsedOperation:
    return operation(Opcode.ADD, tags)


def update(**tags: str) -> ParsedOperation:
    return operation(Opcode.UPDATE, tags)


def delete(*keys: str, **tags: str) -> ParsedOperation:
    return operation(Opcode.DELETE, tags, keys)


def wrote(writer: str = "first", **tags: str) -> Record:
    """What we wrote, confirmed."""
    return {key: LedgerEntry(f"uid-{writer}", frozenset({value}), Proof.CONFIRMED) for key, value in tags.items()}


def plan_resource(
    resource: TaggedResource, claims: Sequence[Claim], record: Record, rules: Rules, acting: str | None = None
) -> ResourcePlan:
    """The plan of one resource."""
    return plan_on(resource, terms(claims, rules), record, acting)


def plan(
    resource: TaggedResource, *claims: Claim, record: Record | None = None, rules: Rules | None = None
) -> ResourcePlan:
    return plan_resource(resource, claims, {} if record is None else record, rules or Rules())


def applied(done: ResourcePlan) -> TaggedResource:
    """The resource after the cloud carried the plan out: first the removals, then the upserts."""
    tags = dict(done.resource.tags)
    for removal in done.delta.removals:
        left = tags[removal.key] - removal.seen
        tags.pop(removal.key)
        if left:
            tags[removal.key] = left
    tags |= {upsert.key: frozenset({upsert.value}) for upsert in done.delta.upserts}
    return done.resource._replace(tags=tags)


def written(done: ResourcePlan) -> dict[str, str]:
    return {each.key: each.value for each in done.delta.upserts}


def removed(done: ResourcePlan) -> dict[str, frozenset[str]]:
    return {each.key: each.seen for each in done.delta.removals}


def reasons(done: ResourcePlan) -> list[tuple[str, LeaveReason]]:
    return [(note.key, note.reason) for note in done.notes]


def plain(tags: Sequence[str], value: str = "v") -> dict[str, str]:
    return dict.fromkeys(tags, value)
