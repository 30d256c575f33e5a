"""Registrations of one instance with load balancers: parts of the instance, read and written for it alone.

The load balancer is of another owner, often with machines of many. Each request names the target group, or the classic
load balancer, and this one instance.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from freehold.engine.errors import NotFound
from freehold.engine.resources import Part, Ref
from freehold.providers.aws.calls import AwsClient

REGISTRATION = "registration"
DRAIN_TIME = 30.0
"""Seconds for which a termination waits at most for connections that a load balancer still serves."""


def registration_part(balancer: str) -> Part:
    """Return the part for a target group, by its ARN, or a classic load balancer, by its name."""
    return Part(REGISTRATION, balancer, id=balancer)


@dataclass(frozen=True)
class _Health:
    """One registration as its load balancer shows it. ``waits``: why it gets no traffic; empty if it does."""

    registered: bool
    draining: bool = False
    waits: str = ""


_NONE = _Health(registered=False)


class Registrations:
    """The verbs (:class:`drivers.PartsDriver`, :class:`drivers.PartFinder`)."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Return nothing: no call of AWS lists the load balancers of an instance."""
        return frozenset()

    async def find_parts(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        found = {part: await self._read(ref.id, part.natural_key) for part in sorted(parts, key=str)}
        return frozenset(
            Part(REGISTRATION, part.natural_key, id=part.natural_key, waits=health.waits)
            for part, health in found.items()
            if health.registered
        )

    async def find_draining(self, ref: Ref, parts: Collection[Part]) -> frozenset[Part]:
        """Return those that end their connections; also those that a read still shows as registered: it lags."""
        found = {part: await self._read(ref.id, part.natural_key) for part in sorted(parts, key=str)}
        return frozenset(part for part, health in found.items() if health.draining or health.registered)

    async def add_part(self, ref: Ref, part: Part) -> None:
        """Register it. AWS takes one that is registered already."""
        balancer = part.natural_key
        if _is_target_group(balancer):
            await self._client.write(
                "elbv2", "register_targets", f"{ref.id} with {balancer}",
                TargetGroupArn=balancer, Targets=[{"Id": ref.id}],
            )  # fmt: skip
        else:
            await self._client.write(
                "elb", "register_instances_with_load_balancer", f"{ref.id} with {balancer}",
                LoadBalancerName=balancer, Instances=[{"InstanceId": ref.id}],
            )  # fmt: skip

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Deregister it. One that is not registered, or whose load balancer is gone, is no error."""
        balancer = part.natural_key
        try:
            if _is_target_group(balancer):
                await self._client.write(
                    "elbv2", "deregister_targets", f"{ref.id} from {balancer}",
                    TargetGroupArn=balancer, Targets=[{"Id": ref.id}],
                )  # fmt: skip
            else:
                await self._client.write(
                    "elb", "deregister_instances_from_load_balancer", f"{ref.id} from {balancer}",
                    LoadBalancerName=balancer, Instances=[{"InstanceId": ref.id}],
                )  # fmt: skip
        except NotFound:
            return

    async def _read(self, ident: str, balancer: str) -> _Health:
        try:
            return await (self._read_target if _is_target_group(balancer) else self._read_classic)(ident, balancer)
        except NotFound:  # the load balancer is gone, or does not know the instance
            return _NONE

    async def _read_target(self, ident: str, group: str) -> _Health:
        """Read the health of a target.

        https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetHealth.html
        """
        body = await self._client.read(
            "elbv2", "describe_target_health", f"{ident} in {group}", TargetGroupArn=group, Targets=[{"Id": ident}]
        )
        found = _NONE
        for row in body["TargetHealthDescriptions"]:
            health = row["TargetHealth"]
            match health["State"], health.get("Reason", ""):
                case "unused", "Target.NotRegistered":
                    continue
                case "draining", _:
                    found = _Health(registered=False, draining=True)
                case "healthy", _:
                    return _Health(registered=True)
                case word, reason:
                    return _Health(registered=True, waits=_explain(word, health.get("Description") or reason))
        return found

    async def _read_classic(self, ident: str, name: str) -> _Health:
        """Read the state of an instance. It is in service while it drains, as only the description says.

        https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_InstanceState.html
        """
        body = await self._client.read(
            "elb", "describe_instance_health", f"{ident} in {name}",
            LoadBalancerName=name, Instances=[{"InstanceId": ident}],
        )  # fmt: skip
        for row in body["InstanceStates"]:
            text = row.get("Description", "")
            if text.startswith("Instance deregistration currently in progress"):
                return _Health(registered=False, draining=True)
            if text.startswith("Instance is not currently registered"):
                return _NONE
            return _Health(registered=True, waits="" if row["State"] == "InService" else _explain(row["State"], text))
        return _NONE


def _is_target_group(balancer: str) -> bool:
    return balancer.startswith("arn:")


def _explain(word: str, text: str) -> str:
    return f"{word} ({text})" if text and text != "N/A" else word
