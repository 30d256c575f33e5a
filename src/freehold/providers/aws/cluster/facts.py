"""The facts that must be known before the spec of an AWSCluster can become a cluster plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from freehold.engine.resources import NodeKey
from freehold.providers.aws.types.network import VPCSpec
from freehold.providers.aws.zones import AVAILABILITY_ZONE
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer, NotThere


@dataclass(frozen=True)
class Recorded:
    """What the object's journal holds.

    ``vpc``: the id of a VPC of its own, empty where it has none. ``subnets``: the ids of its own subnets by logical
    name, empty texts where an id is not known yet. An id in the spec that is the object's own means the resource that
    it has: nothing changes (ADR 13). ``nat_gateways``: its own, by logical name. ``bastion``: the
    logical name of the subnet that its bastion is in. ``balancers``: its own load balancers, each with the subnets that
    it is in, by logical name. ``cluster``: the name that its resources have in CAPA's tags. ``given_vpc``: the id of
    the VPC of others that it has resources in, empty where it has none. ``ipv6``: a VPC of its own was made with IPv6.
    ``anything``: also where all of it is given. ``quick_checks``: it was begun with the health checks of today.
    """

    vpc: str = ""
    subnets: Mapping[str, str] = field(default_factory=dict)
    nat_gateways: Collection[str] = ()
    bastion: str = ""
    balancers: Mapping[NodeKey, Collection[str]] = field(default_factory=dict)
    cluster: str = ""
    given_vpc: str = ""
    ipv6: bool = False
    anything: bool = False
    quick_checks: bool = True

    def given_vpc_of(self, vpc: VPCSpec | None) -> str:
        """Return the id of the VPC of others that the spec names; empty where it names none, or the object's own."""
        return vpc.id if vpc and vpc.id and vpc.id != self.vpc else ""

    def subnet_of(self, ident: str) -> str:
        """Return the logical name of the own subnet with this id; empty where none has it."""
        return next((logical for logical, own in self.subnets.items() if own and own == ident), "")


@dataclass(frozen=True)
class GivenSubnet:
    """A subnet of a given VPC. ``public``: its routes lead to an internet gateway. ``ipv6``: it has an IPv6 range.

    ``tags`` are those that it has in AWS. ``way_out`` is the id of what its IPv4 default route leads to, if anything.
    """

    id: str
    zone: str
    cidr: str
    public: bool
    zone_type: str = AVAILABILITY_ZONE
    ipv6: bool = False
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    way_out: str = ""


@dataclass(frozen=True)
class GivenNetwork:
    """All subnets of a given VPC, by id."""

    subnets: Mapping[str, GivenSubnet] = field(default_factory=dict)


@dataclass(frozen=True)
class Namesake:
    """A resource that CAPA's tag, or the cloud controller's, gives to a cluster of our cluster's name.

    ``owner``, ``uuid``: whose marks it has, if any. ``by_cloud_provider``: only the cloud controller's tag says so.
    """

    arn: str
    owner: str = ""
    uuid: str = ""
    by_cloud_provider: bool = False


@dataclass(frozen=True)
class Facts:
    """The answers; None where a question does not arise.

    ``zones`` are the region's availability zones in which resources can be made, without local and Wavelength zones;
    NotThere for a region that does not exist; a delete goes on without them. ``api_port`` is the API server's.
    ``nat_addresses`` are the public addresses of the NAT gateways of a given VPC, by id, asked where rules name them.
    ``network`` is the given VPC, NotThere where the region has none of this id. ``image`` is the newest image for a
    bastion. ``own_vpc_has_ipv6`` is asked where the spec wants IPv6 in a VPC of its own and the record does not tell
    that it has it; NotThere where the VPC is gone. ``groups`` are the VPCs, by id, of the security groups that the spec
    names and that are there; they and ``namesakes`` are asked for before the first resource is created;
    ``known_before``: the answer shows resources of the object itself. ``not_bound``: why AWS does not check whose a
    resource is before the object's role deletes it; empty where it does, and without a role.
    """

    zones: Answer[tuple[str, ...]] | NotThere | NoAnswer | None = NOT_ASKED
    api_port: int = 6443
    recorded: Recorded = Recorded()
    network: Answer[GivenNetwork] | NotThere | NoAnswer | None = None
    nat_addresses: Answer[Mapping[str, tuple[str, ...]]] | NoAnswer | None = None
    image: Answer[str] | NotThere | NoAnswer | None = None
    own_vpc_has_ipv6: Answer[bool] | NotThere | NoAnswer | None = None
    groups: Answer[Mapping[str, str]] | NoAnswer | None = None
    namesakes: Answer[tuple[Namesake, ...]] | NoAnswer | None = None
    known_before: bool = False
    not_bound: str = ""

    @property
    def nothing_made(self) -> bool:
        """Return whether nothing of the object exists: nothing is on record, and the cloud shows nothing."""
        return isinstance(self.namesakes, Answer) and not self.known_before
