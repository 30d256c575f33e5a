"""AWS in the conformance suite: the simulated account, and a create request of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.bench import CloudUnderTest, Request, Verbs, place_of
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.kinds import Kind, Registry
from freehold.engine.port import InlinePort
from freehold.engine.resources import Birth, Observed, ParentResource, Part, Ref, State
from freehold.engine.tag_text import text
from freehold.providers.aws import policy_json
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.kinds import (
    bootstrap_secret,
    classic_load_balancer,
    egress_only_gateway,
    eks_access_entry,
    eks_addon,
    eks_cluster,
    elastic_ip,
    iam_role,
    instance,
    internet_gateway,
    listener,
    nat_gateway,
    network_load_balancer,
    oidc_provider,
    route_table,
    s3_bucket,
    security_group,
    subnet,
    target_group,
    vpc,
    vpc_endpoint,
)
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.eks.addon_versions import ADDONS
from freehold_sim.aws.settings import Lags, Settings
from harness.account import NONCE
from harness.aws_account import KEYS, REGION, TARGET_ATTRIBUTES, AwsAccount

KINDS: tuple[Callable[[AwsClient], Kind], ...] = (
    vpc.kind,
    subnet.kind,
    internet_gateway.kind,
    egress_only_gateway.kind,
    elastic_ip.kind,
    nat_gateway.kind,
    route_table.kind,
    security_group.kind,
    vpc_endpoint.kind,
    classic_load_balancer.kind,
    network_load_balancer.kind,
    target_group.kind,
    listener.kind,
    s3_bucket.kind,
    instance.kind,
    bootstrap_secret.kind,
    eks_cluster.kind,
    eks_addon.kind,
    eks_access_entry.kind,
    iam_role.kind,
    oidc_provider.kind,
)

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
HOMES = {
    "subnet": "vpc", "egress-only-gateway": "vpc", "nat-gateway": "subnet", "route-table": "vpc",
    "security-group": "vpc", "vpc-endpoint": "vpc", "listener": "network-load-balancer",
    "eks-addon": "eks-cluster", "eks-access-entry": "eks-cluster",
}  # fmt: skip
"""The kinds that are created inside another resource, and the kind of that resource."""


def aws_kinds(client: AwsClient) -> Registry:
    return Registry([kind(client) for kind in KINDS])


class AwsBench(Verbs, AwsAccount):
    """A simulated AWS account in which the requirements of every kind exist, with the operations of the suite."""

    homes = HOMES
    keeps_nonce: frozenset[str] = frozenset()
    other_lists = frozenset(
        {"s3-bucket", "bootstrap-secret", "iam-role", "oidc-provider", "eks-cluster", "eks-addon", "eks-access-entry"}
    )
    loose_tokens = frozenset({"bootstrap-secret", "eks-cluster", "eks-addon", "eks-access-entry"})
    """Whose token ends with what it made, and binds no tags; of EKS no page says what becomes of either."""
    all_but_tokens = "*"
    credentials = KEYS.origin
    region = REGION
    goes_twice = frozenset(
        {
            "nat-gateway",
            "instance",
            "classic-load-balancer",
            "network-load-balancer",
            "target-group",
            "bootstrap-secret",
            "oidc-provider",
        }
    )
    """What may be deleted again: it is shown as deleted for an hour, or AWS answers success for one that is missing."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self.settings = settings or Settings()
        self.kinds = aws_kinds(self.api)
        self.stands: dict[str, Observed] = {}
        self._count = 0
        self._roles: dict[str, str] = {}
        self._second = ""

    # -- what is asked of it ------------------------------------------------------------------------------------

    def creates(self, kind: str) -> str:
        return f"{FACTS[kind].service}.{FACTS[kind].create}"

    def secret(self) -> str:
        return KEYS.secret_key

    def elsewhere_in_account(self, request: Request) -> Request:
        return request

    def declared_times(self, kind: str) -> tuple[float, float] | None:
        delays = self.settings.delays
        return (delays.create_nat_gateway, delays.delete_nat_gateway) if kind == "nat-gateway" else None

    def longest_doubt(self) -> float:
        """Seconds until a sent create shows in every list and index."""
        lags = self.settings.lags
        return 2 * (lags.new + max(lags.tagged, lags.tags)) + 30.0

    def requests(self) -> list[str]:
        return self.served()

    def writes(self) -> list[str]:
        return [call.operation for call in self.cloud.calls if call.mutating and call.actor == "api"]

    def passed(self) -> list[str]:
        """The operations that went through the port, with the names of the cloud's log."""
        clients = {call.api: self.session.client(call.api) for call in self.port.calls}
        names = {api: client.meta.method_to_api_mapping for api, client in clients.items()}
        return [f"{call.api}.{names[call.api][call.operation]}" for call in self.port.calls]

    # -- verbs --------------------------------------------------------------------------------------------------

    async def create(self, kind: str, request: Mapping[str, Any], nonce: str = NONCE, made_as: str = "") -> Observed:
        birth = Birth(
            f"token-{made_as}".ljust(32, "."),
            nonce,
            frozenset({text(BIRTH, nonce), text("Name", str(request["name"]))}),
        )
        return await self.kinds[kind].driver.create(request, birth)

    async def crowd(self, kind: str, name: str) -> None:
        """Create another resource of the kind in the same place."""
        request = await self.request(kind)
        named = {"name": name}
        if kind == "eks-addon":
            named = {"name": "coredns" if name.endswith("0") else "kube-proxy", "version": ""}
        if kind == "eks-access-entry":
            named["principal_arn"] = self.role_once(name)
        await self.create(kind, {**request, **named}, "fcrowded", name)

    async def elsewhere(self, kind: str) -> ParentResource:
        """Another container for ``kind``."""
        home = self.homes[kind]
        request = {**await self.request(home), "name": f"other-{home}"}
        return place_of(home, await self.ready(home, await self.create(home, request, "felsewhere", "elsewhere")))

    # -- requests -----------------------------------------------------------------------------------------------

    async def request(self, kind: str) -> dict[str, Any]:
        """A create request of ``kind``, as the reconciler writes it; what the create needs is made first."""
        for required in NEEDS.get(kind, ()):
            if required not in self.stands:
                request = await self.request(required)
                made = await self.create(required, request, "frequire", f"for-{required}")
                self.stands[required] = await self.ready(required, made)
                if required == "internet-gateway":
                    await self.attach()
        return {"name": f"my-{kind}", **await self._request(kind)}

    async def attach(self) -> None:
        gateway = self.kinds["internet-gateway"]
        assert gateway.parts.driver is not None
        part = Part(internet_gateway.ATTACHMENT, self.stands["vpc"].id)
        await gateway.parts.driver.add_part(Ref(self.stands["internet-gateway"].id), part)

    async def _request(self, kind: str) -> dict[str, Any]:
        ids = {name: seen.id for name, seen in self.stands.items()}
        match kind:
            case "vpc":
                return {"cidr": "10.0.0.0/16", "enable_dns_support": True, "enable_dns_hostnames": True}
            case "subnet":
                self._count += 1  # two subnets of one block are none
                return {
                    "vpc_id": ids["vpc"], "zone": f"{REGION}a", "cidr": f"10.0.{self._count}.0/24",
                    "map_public_ip_on_launch": True, "assign_ipv6_address_on_creation": False,
                }  # fmt: skip
            case "internet-gateway" | "elastic-ip":
                return {}
            case "egress-only-gateway" | "route-table":
                return {"vpc_id": ids["vpc"]}
            case "nat-gateway":
                address = await self.kinds["elastic-ip"].driver.create({"name": "nat"}, Birth("", "fnat"))
                await self.until("elastic-ip", address, State.READY)
                return {"subnet_id": ids["subnet"], "allocation_id": address.id}
            case "security-group":
                return {"description": "for a test", "vpc_id": ids["vpc"]}
            case "vpc-endpoint":
                policy = policy_json.canonical_policy({"Statement": []})
                service = f"com.amazonaws.{REGION}.s3"
                return {
                    "vpc_id": ids["vpc"], "service_name": service, "route_table_ids": [], "policy_document": policy,
                }  # fmt: skip
            case "s3-bucket":
                return {}
            case "iam-role":
                name, trust = f"my{self._next()}-iam-service-role", policy_json.canonical_policy(TRUST)
                return {
                    "name": name, "path": "/", "trust": trust,
                    "permissions_boundary": "arn:aws:iam::aws:policy/PowerUserAccess",
                }  # fmt: skip
            case "oidc-provider":
                url = f"https://oidc.eks.{REGION}.amazonaws.com/id/{self._next()}"
                return {"url": url, "client_ids": ["sts.amazonaws.com"]}
            case "bootstrap-secret":
                return {"value": "bootstrap data"}
            case "eks-cluster":
                return {**self._cluster_request(ids), "subnets": sorted([ids["subnet"], await self._other_subnet()])}
            case "eks-addon":
                return {
                    "name": "vpc-cni", "cluster": CLUSTER, "version": ADDON_VERSION, "configuration": "",
                    "role_arn": self.role_once("addon"),
                    "resolve_conflicts": "OVERWRITE", "preserve": False,
                }  # fmt: skip
            case "eks-access-entry":
                return {
                    "cluster": CLUSTER, "principal_arn": self.role_once("admin"), "type": "STANDARD",
                    "groups": ["viewers"], "username": "admin",
                }  # fmt: skip
            case "instance":
                return {
                    "image_id": "ami-0a0000000000000c1", "instance_type": "t3.micro", "subnet_id": ids["subnet"],
                    "security_groups": [ids["security-group"]],
                }  # fmt: skip
        return self._balancing_request(kind, ids)

    def role_once(self, name: str) -> str:
        """A role that is not of the account's own requests."""
        if name not in self._roles:
            before = len(self.cloud.calls)
            self._roles[name] = self.role(name)
            del self.cloud.calls[before:]
            self.clock.advance(self.settings.lags.new)
        return self._roles[name]

    async def _other_subnet(self) -> str:
        """A subnet in another zone: EKS asks for two zones."""
        if not self._second:
            request = {**await self.request("subnet"), "zone": f"{REGION}b", "name": "other-zone"}
            made = await self.create("subnet", request, "fotherzone", "other-zone")
            self._second = (await self.ready("subnet", made)).id
        return self._second

    def _cluster_request(self, ids: Mapping[str, str]) -> dict[str, Any]:
        return {
            "name": CLUSTER, "version": "1.34", "role_arn": self.role_once("eks"),
            "security_groups": [ids["security-group"]],
            "endpoint_public": True, "endpoint_private": True, "public_cidrs": ["192.0.2.0/24"], "logging": ["api"],
            "access_mode": "API_AND_CONFIG_MAP", "creator_admin": True, "self_managed_addons": False,
            "encryption_key": "", "upgrade_policy": "STANDARD", "service_cidr": "",
        }  # fmt: skip

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _balancing_request(self, kind: str, ids: Mapping[str, str]) -> dict[str, Any]:
        placed = {
            "scheme": "internet-facing", "subnets": [ids.get("subnet")],
            "security_groups": [ids.get("security-group")],
        }  # fmt: skip
        match kind:
            case "classic-load-balancer":
                health = {"Target": "TCP:6443", "Interval": 10, "Timeout": 5, "HealthyThreshold": 5,
                         "UnhealthyThreshold": 3}  # fmt: skip
                row = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
                return {**placed, "listeners": [row], "health_check": health, "idle_timeout": 600, "cross_zone": True}
            case "network-load-balancer":
                return {
                    **placed, "ip_address_type": "ipv4", "attributes": {"load_balancing.cross_zone.enabled": "true"},
                }  # fmt: skip
            case "target-group":
                check = {"HealthCheckProtocol": "TCP", "HealthCheckPort": "6443", "HealthCheckIntervalSeconds": 20,
                         "HealthCheckTimeoutSeconds": 5, "HealthyThresholdCount": 5,
                         "UnhealthyThresholdCount": 3}  # fmt: skip
                return {
                    "vpc_id": ids["vpc"], "protocol": "TCP", "port": 6443, "target_type": "instance",
                    "health_check": check, "attributes": TARGET_ATTRIBUTES,
                }  # fmt: skip
            case "listener":
                self._count += 1  # a load balancer has one listener on a port
                return {
                    "balancer": ids["network-load-balancer"], "protocol": "TCP", "port": 6000 + self._count,
                    "target_groups": [ids["target-group"]],
                }  # fmt: skip
        raise AssertionError(f"{kind} is registered: say in {__file__} what its create request looks like")


CLUSTER = "my-eks-cluster"
ADDON_VERSION = ADDONS["vpc-cni"].default(34)

NEEDS = {
    "subnet": ("vpc",),
    "egress-only-gateway": ("vpc",),
    "route-table": ("vpc",),
    "nat-gateway": ("vpc", "internet-gateway", "subnet"),
    "security-group": ("vpc",),
    "vpc-endpoint": ("vpc",),
    "classic-load-balancer": ("vpc", "internet-gateway", "subnet", "security-group"),
    "network-load-balancer": ("vpc", "internet-gateway", "subnet", "security-group"),
    "target-group": ("vpc",),
    "listener": ("network-load-balancer", "target-group"),
    "instance": ("vpc", "internet-gateway", "subnet", "security-group"),
    "eks-cluster": ("vpc", "subnet", "security-group"),
    "eks-addon": ("vpc", "subnet", "security-group", "eks-cluster"),
    "eks-access-entry": ("vpc", "subnet", "security-group", "eks-cluster"),
}
"""What must be there before a create of the kind."""


AWS = CloudUnderTest(
    kinds=aws_kinds(AwsClient(AwsSession(KEYS, REGION), InlinePort())),
    homes=HOMES,
    bench=lambda **fields: AwsBench(Settings(**fields)),
    lagging=lambda seconds: AwsBench(Settings(lags=Lags(new=seconds, non_monotonic=True))),
    small_pages=lambda: AwsBench(Settings(page_size=1)),
)
