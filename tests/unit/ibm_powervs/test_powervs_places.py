"""Where given resources are is asked before a create, and never in a delete."""

from __future__ import annotations

from freehold.engine.resources import NodeKey, Observed, State
from freehold.providers.ibm.powervs.adapter import discover
from freehold.providers.ibm.powervs.existing import IdLookup
from freehold.providers.ibm.powervs.facts import Given, PowerZone
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, SeveralFound
from harness.schemas import powervs_spec

CREATE = {"powervs.cluster.x-k8s.io/create-infra": "true"}
SPEC = powervs_spec(
    {
        "spec": {
            "resourceGroup": {"name": "rg"},
            "zone": "dal10",
            "vpc": {"name": "theirs", "region": "us-south"},
            "serviceInstance": {"id": "ws"},
            "network": {"id": "net"},
            "vpcSubnets": [{"id": "sub"}],
        }
    },
)


class Cloud:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def resource_group(self, name: str) -> Answer[str] | NotThere:
        return Answer("rg-id")

    async def zone(self, zone: str) -> Answer[PowerZone] | NotThere:
        return Answer(PowerZone("dal", edge_router=True))

    async def vpc_zones(self, region: str) -> Answer[tuple[str, ...]] | NotThere:
        return Answer(("us-south-1",))

    async def place(self, kind: str, region: str, ident: str) -> Answer[str] | NotThere | NoAnswer:
        self.asked.append(f"{kind} {ident}")
        return Answer("somewhere")

    async def look_up(self, lookup: IdLookup) -> Answer[Observed] | NotThere | SeveralFound | NoAnswer:
        self.asked.append(str(lookup.key))
        return Answer(Observed("us-south/vpc-id", "theirs", State.READY))


async def test_each_given_resource_is_asked_about_and_a_vpc_by_name() -> None:
    cloud = Cloud()
    facts = await discover(cloud, CREATE, SPEC, 6443)
    assert cloud.asked == ["workspace ws", "vpc-subnet sub", "vpc/main"]
    assert facts.places.of[Given("spec.vpcSubnets[0].id", "vpc-subnet", "sub")] == Answer("somewhere")


async def test_a_delete_asks_nothing_about_given_resources() -> None:
    """Nothing is created any more, and a missing answer must not hold it up."""
    for metadata in (CREATE, {}):
        cloud = Cloud()
        facts = await discover(cloud, metadata, SPEC, 6443, deleting=True)
        assert cloud.asked == []
        assert facts.places.of == {}


async def test_without_the_annotation_only_the_workspace_is_asked_about() -> None:
    """The fields of the VPC are not acted on."""
    cloud = Cloud()
    await discover(cloud, {}, SPEC, 6443)
    assert cloud.asked == ["workspace ws"]
    assert NodeKey("vpc", "main") not in (await discover(cloud, {}, SPEC, 6443)).existing
