"""Kind ``listener``: its engine id is its ARN. It goes with its load balancer.

Request: ``balancer``, ``port``, ``protocol``, ``target_groups`` (a list of one). It has no name: a load balancer has
one listener on a port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import User
from freehold.engine.errors import NotFound
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.aws import balancing, errors
from freehold.providers.aws.balancing import BalancingRead
from freehold.providers.aws.balancing_driver import BalancingDriver, identify
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags import birth_tags

BALANCER_KIND = "network-load-balancer"


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    """Decode a row. A listener that forwards to several groups, by weight, shows them all; none of ours does."""
    arn, actions = body["ListenerArn"], body.get("DefaultActions", ())
    groups = [
        row["TargetGroupArn"]
        for action in actions
        for row in (action.get("ForwardConfig", {}).get("TargetGroups") or [action])
        if row.get("TargetGroupArn")
    ]
    return DecodedResource(
        id=arn,
        arn=arn,
        state=State.READY,
        tags={},
        attributes={
            "balancer": body["LoadBalancerArn"],
            "protocol": body.get("Protocol", ""),
            "port": body.get("Port"),
            "target_groups": groups,
        },
    )


READ = BalancingRead("elbv2", "describe_listeners", "Listeners", "ListenerArns", decode)


class ListenerDriver(BalancingDriver):
    """A driver. A listener is ready at once and gone at once."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. AWS returns an existing one with this port and these settings, of any owner."""
        await location_of(self._client)  # before the write: a failure after it would lose the reply
        body = await self._client.write(
            "elbv2",
            "create_listener",
            str(request.get("name") or f"{request['port']} of {request['balancer']}"),
            LoadBalancerArn=request["balancer"],
            Protocol=request["protocol"],
            Port=request["port"],
            DefaultActions=_forward(request["target_groups"]),
            Tags=birth_tags.birth_tag_list(birth),
        )
        return await self._observe_reply(body["Listeners"][0], birth)

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        balancers = sorted({want.request["balancer"] for want in wants})
        found = [
            seen for each in balancers for seen in await balancing.list_listeners_if_present(self._client, READ, each)
        ]
        tagged = await balancing.fill_in_tags(self._client, found)
        return {want.key: [seen.to_observed() for seen in tagged if _fits(seen, want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search each load balancer. Raises NotFound for one that is not shown: it may not be an empty one."""
        balancers = {place.ref.id for place in places if place.kind == BALANCER_KIND}
        balancers |= {want.request["balancer"] for want in wants}
        found = [seen for each in sorted(balancers) for seen in await self._list_listeners(each)]
        return [
            seen.to_observed()
            for seen in await balancing.fill_in_tags(self._client, found)
            if birth_tags.has_birth_nonce(seen.tags, nonces) or any(_fits(seen, want) for want in wants)
        ]

    async def _list_listeners(self, balancer: str) -> Sequence[DecodedResource]:
        try:
            return await balancing.list_listeners(self._client, READ, balancer)
        except errors.ListNotFound as missing:
            message = f"AWS does not show the load balancer {balancer}. Check that it still exists"
            raise NotFound(message, code=missing.code, request_id=missing.request_id) from missing

    async def update(self, ref: Ref, changes: Request) -> None:
        changed = {member: changes[name] for name, member in _MEMBERS.items() if name in changes}
        if "target_groups" in changes:
            changed["DefaultActions"] = _forward(changes["target_groups"])
        await self._client.write("elbv2", "modify_listener", ref.id, ListenerArn=ref.id, **changed)

    async def delete(self, ref: Ref) -> None:
        await self._client.write("elbv2", "delete_listener", ref.id, ListenerArn=ref.id)

    def identify(self, target: str, carried: str = "") -> str:
        return identify(target, "listener")

    async def users(self, ref: Ref) -> Sequence[User]:
        """Return the targets of its groups: somebody's machines."""
        seen = (await self.observe([ref])).get(ref.id)
        groups = seen.attributes["target_groups"] if seen else ()
        inside = [await balancing.read_targets(self._client, group) for group in groups]
        return sorted(User(f"target {row['Id']} {row.get('Port', '')}".rstrip()) for rows in inside for row in rows)


_MEMBERS = {"port": "Port", "protocol": "Protocol"}


def _forward(groups: Sequence[str]) -> list[Json]:
    (group,) = groups
    return [{"Type": "forward", "TargetGroupArn": group}]


def _fits(seen: DecodedResource, want: Want) -> bool:
    """Return whether it is in the wanted load balancer, on the wanted port or with one of our birth marks."""
    if seen.attributes["balancer"] != want.request["balancer"]:
        return False
    return seen.attributes["port"] == want.request["port"] or birth_tags.has_birth_nonce(seen.tags, want.nonces)


def kind(client: AwsClient) -> Kind:
    """Build the kind. It has no list for objects to share: listeners are listed by load balancer."""
    driver = ListenerDriver(client, READ)
    return aws_kind(
        "listener",
        driver,
        requires=(BALANCER_KIND, "target-group"),
        parent_kind=BALANCER_KIND,
        creation=CreateRules(answers_existing=True),
        attributes=AttributeRules(mutable=frozenset({"port", "protocol", "target_groups"})),
        deletion=DeleteRules(usage=driver, gone_at_once=True),
    )
