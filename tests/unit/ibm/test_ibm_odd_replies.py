"""Replies with 200 that are not answers, lists that do not end, and fields that IBM Cloud may omit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest

from freehold.engine.errors import Denied, InUse, NotReady, Unavailable, Unknown
from freehold.engine.inventory import TagChange
from freehold.engine.resources import Part, Ref
from freehold.providers.ibm.facts import IbmFacts
from freehold.providers.ibm.times import epoch
from freehold_sim.faults import Effect, Fault
from freehold_sim.http import Request, Response
from freehold_sim.ibm.settings import Lags

JSON = {"Content-Type": "application/json"}
PAGE = "<html>Please sign in to this network</html>"


class Distorted:
    """A cloud in which the replies to one operation are replaced, or changed field by field."""

    def __init__(self, cloud: Any, method: str, path: str, answer: Response | Mapping[str, Any]) -> None:
        self._cloud, self._method, self._path, self._answer = cloud, method, path, answer
        self._handle = cloud.handle
        cloud.handle = self.handle

    def handle(self, request: Request, actor: str = "api") -> Response:
        reply = self._handle(request, actor)
        if actor != "api" or request.method != self._method or not request.path.rstrip("/").endswith(self._path):
            return reply
        if isinstance(self._answer, Response):
            return self._answer
        body = {name: value for name, value in {**reply.json(), **self._answer}.items() if value is not None}
        return Response(reply.status, json.dumps(body).encode(), reply.headers)


@pytest.mark.parametrize(
    "answer",
    [Response(200, PAGE.encode(), {"Content-Type": "text/html"}), Response(200, b"", JSON), Response(200, b"7", JSON)],
    ids=["page", "empty", "number"],
)
async def test_a_200_without_an_answer_is_a_failed_call(account: Any, answer: Response) -> None:
    """A captive portal answers 200 to everything: a read is repeated, a write may have happened."""
    vpc = await account.ready("vpc", account.vpc())
    Distorted(account.cloud, "GET", vpc.attributes["id"], answer)
    Distorted(account.cloud, "POST", "/vpcs", answer)
    with pytest.raises(Unavailable):
        await account.look("vpc", vpc)
    with pytest.raises(Unknown):
        await account.create("vpc", account.vpc("second"), "fzzzzzzz")


async def test_a_redirected_delete_does_not_count_as_done(account: Any) -> None:
    """A client that follows the redirect turns the DELETE into a GET, whose 200 would count as success."""
    vpc = await account.ready("vpc", account.vpc())
    elsewhere = {"Location": f"http://ibm.sim/vpc/us-south/v1/vpcs/{vpc.attributes['id']}?version=1&generation=2"}
    Distorted(account.cloud, "DELETE", vpc.attributes["id"], Response(302, b"", elsewhere))
    before = len(account.requests())
    with pytest.raises(Unknown, match="what came is no answer"):
        await account.kinds["vpc"].driver.delete(Ref(vpc.id, vpc.target))
    assert account.requests()[before:] == ["vpc.delete_vpc"]


async def test_a_list_whose_next_page_is_itself_ends(account: Any) -> None:
    """Otherwise one wrong page token would keep a thread busy for ever."""
    await account.ready("vpc", account.vpc())
    Distorted(account.cloud, "GET", "/vpcs", {"next": {"href": "https://x/v1/vpcs?start=1"}})
    with pytest.raises(Unavailable, match="does not end"):
        await account.find("vpc", account.vpc())


async def test_a_reply_without_a_list_does_not_count_as_an_empty_list(account: Any) -> None:
    """Resources missing in a list may be created again: the 200 of a gateway must not count as an empty list."""
    vpc = await account.ready("vpc", account.vpc())
    gateway = await account.ready("transit-gateway", account.gateway())
    connection = await account.ready("transit-gateway-connection", account.connection(gateway, vpc))
    workspace = await account.ready("workspace", account.workspace())
    storage = await account.ready("cos-instance", account.cos())
    group = await account.ready("security-group", account.group(vpc))
    strange = Response(200, b'{"status":"ok"}', JSON)
    for path in ("vpcs", "transit_gateways", "connections", "resource_instances", "networks", "rules", "tags"):
        Distorted(account.cloud, "GET", path, strange)
    Distorted(account.cloud, "POST", "search", strange)
    Distorted(account.cloud, "GET", "/us-south", Response(200, b"<Status>ok</Status>", {"Content-Type": "text/xml"}))
    requests = {
        "vpc": account.vpc(), "transit-gateway": account.gateway(), "workspace": account.workspace(),
        "transit-gateway-connection": account.connection(gateway, vpc), "cos-bucket": account.bucket(storage),
        "dhcp-server": account.dhcp(workspace),
    }  # fmt: skip
    for kind, request in requests.items():
        with pytest.raises(Unavailable):
            await account.find(kind, request)
    two = [Ref(connection.id), Ref(f"{connection.id}2")]
    with pytest.raises(Unavailable, match="its reply has no list"):
        await account.kinds["transit-gateway-connection"].driver.observe(two)
    with pytest.raises(Unavailable, match="its reply has no list"):
        await account.kinds["security-group"].parts.driver.parts(Ref(group.id))
    with pytest.raises(Unavailable, match="its reply has no list"):
        await account.tagger.tags_of(vpc.target)
    with pytest.raises(Unavailable, match="its reply has no list"):
        await account.tagger.find_marked("0a1b2c3d-1111-4222-8333-444455556666")


async def test_a_null_list_is_an_empty_list(account: Any) -> None:
    """Services written in Go print a list of nothing as null."""
    workspace = await account.ready("workspace", account.workspace())
    Distorted(account.cloud, "GET", "networks", Response(200, b'{"networks":null}', JSON))
    assert await account.find("dhcp-server", account.dhcp(workspace)) == []


async def test_buckets_whose_next_page_is_itself_end(account: Any) -> None:
    storage = await account.ready("cos-instance", account.cos())
    await account.create("cos-bucket", account.bucket(storage))
    page = b"""<ListAllMyBucketsResult><IsTruncated>true</IsTruncated><Buckets><Bucket><Name>b</Name>
    <LocationConstraint>us-south-smart</LocationConstraint></Bucket></Buckets></ListAllMyBucketsResult>"""
    Distorted(account.cloud, "GET", "/us-south", Response(200, page, {"Content-Type": "application/xml"}))
    with pytest.raises(Unavailable, match="does not end"):
        await account.find("cos-bucket", account.bucket(storage))


async def test_a_dhcp_server_without_its_network_is_renamed_later(account: Any) -> None:
    """The network may show after the server; until then there is nothing to rename, which is not an error."""
    workspace = await account.ready("workspace", account.workspace())
    server = await account.ready("dhcp-server", account.dhcp(workspace))
    Distorted(account.cloud, "GET", server.id.rpartition("/")[2], {"network": None})
    with pytest.raises(NotReady):
        await account.kinds["dhcp-server"].driver.update(Ref(server.id, server.target), {"network": "n"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.123456789Z", 60.123456),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_in_every_form(text: str | None, expected: float | None) -> None:
    """A time without a zone is UTC; an unreadable time must not fail a reconcile."""
    assert epoch(text) == expected


@pytest.fixture(params=["EAST-9", "WEST9"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time is nine hours ahead of UTC, or behind it."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
def test_a_time_without_a_zone_is_utc_whatever_the_machine_s_zone_is() -> None:
    """As local time, a new resource would look older than its create, and count as a stranger's."""
    assert datetime.fromisoformat("1970-01-02T00:00:00").timestamp() != 86400.0, "the machine's zone has changed"
    assert epoch("1970-01-02T00:00:00") == 86400.0


async def test_a_zone_that_cannot_be_used_is_not_offered(account: Any) -> None:
    """A subnet in it is refused, and its region has others. An impaired zone still accepts subnets."""
    words = {
        "us-south-1": "available",
        "us-south-2": "impaired",
        "us-south-3": "unavailable",
        "us-south-4": "unassigned",
    }
    told = {"zones": [{"name": name, "status": status} for name, status in words.items()]}
    Distorted(account.cloud, "GET", "/regions/us-south/zones", told)
    assert await IbmFacts(account.client, account.clock).vpc_zones("us-south") == ("us-south-1", "us-south-2")


async def test_a_gateway_without_a_crn_is_seen_and_marked_later(account: Any) -> None:
    """The SDK's model requires neither CRN nor group; a missing one must not fail the read."""
    made = await account.ready("transit-gateway", account.gateway())
    Distorted(account.cloud, "GET", made.id, {"crn": None, "resource_group": None})
    seen = await account.look("transit-gateway", made)
    assert seen is not None and (seen.id, seen.target) == (made.id, "")


async def test_a_namesake_in_an_unknown_vpc_does_not_count_as_in_ours(account: Any) -> None:
    """Two unknown VPCs need not be the same: the namesake must neither be used nor block the name."""
    here, there = [await account.ready("vpc", account.vpc(name), f"faaaaa{name}") for name in ("aa", "bb")]
    near = await account.ready("vpc-subnet", account.subnet(here))
    far = await account.ready("vpc-subnet", account.subnet(there))
    theirs = await account.ready("load-balancer", account.balancer(far))
    gone = Response(404, b'{"errors":[{"code":"not_found","message":"Subnet not found"}]}', JSON)
    Distorted(account.cloud, "GET", far.attributes["id"], gone)
    assert await account.find("load-balancer", account.balancer(near)) == []
    account.cloud.strangers.change(theirs.attributes["id"], subnets=[])
    assert await account.find("load-balancer", account.balancer(near)) == []


async def test_a_group_whose_rules_others_also_remove_is_not_gone(account: Any) -> None:
    """NotFound for a rule must not become NotFound for the group."""
    vpc = await account.ready("vpc", account.vpc())
    groups = [await account.ready("security-group", account.group(vpc, name), f"faaaaa{name}") for name in ("aa", "bb")]
    for group, other in (groups, groups[::-1]):
        rule = {"direction": "inbound", "protocol": "tcp", "remote": {"id": other.attributes["id"]}}
        await account.kinds["security-group"].parts.driver.add_part(Ref(group.id), Part("rule", "x", rule))
    [part] = await account.kinds["security-group"].parts.driver.parts(Ref(groups[0].id))
    missing = Response(404, b'{"errors":[{"code":"not_found","message":"Rule not found"}]}', JSON)
    Distorted(account.cloud, "DELETE", part.id, missing)
    with pytest.raises(InUse):
        await account.kinds["security-group"].driver.delete(Ref(groups[0].id, groups[0].target))


async def test_a_workspace_that_powervs_does_not_know_is_reported(account: Any) -> None:
    """Its contents are unknown, so it is not deleted; it is not gone either, and still billed."""
    workspace = await account.ready("workspace", account.workspace())
    unknown = Response(404, b'{"description":"cloud instance does not exist","error":"not found"}', JSON)
    for path in ("services/dhcp", "networks", "pvm-instances"):
        Distorted(account.cloud, "GET", path, unknown)
    with pytest.raises(NotReady, match="PowerVS does not know"):
        await account.kinds["workspace"].deletion.container.children(Ref(workspace.id, workspace.target))


@pytest.mark.parametrize("status", [403, 404])
async def test_the_buckets_of_a_deleted_instance_are_gone(account: Any, status: int) -> None:
    """S3 refuses to list them; as an error this would hold the delete until a person acts."""
    storage = await account.ready("cos-instance", account.cos())
    bucket = await account.create("cos-bucket", account.bucket(storage))
    refused = Response(status, b"<Error><Code>AccessDenied</Code></Error>", {"Content-Type": "application/xml"})
    Distorted(account.cloud, "GET", "/us-south", refused)
    with pytest.raises((Denied, Unavailable)):
        await account.look("cos-bucket", bucket)
    await account.kinds["cos-instance"].driver.delete(Ref(storage.id, storage.target))
    assert await account.look("cos-bucket", bucket) is None
    assert await account.find("cos-bucket", account.bucket(storage)) == []


async def test_a_target_that_the_reply_to_a_batch_omits_has_failed(make_account: Any) -> None:
    """Otherwise a missing mark would count as attached, and the resource become an orphan."""
    account = make_account(lags=Lags.none())
    nets = [await account.ready("vpc", account.vpc(f"net{n}")) for n in range(2)]
    told = {"results": [{"resource_id": nets[0].target, "is_error": False}]}
    Distorted(account.cloud, "POST", "/tags/attach", told)
    failed = await account.tagger.attach([TagChange(net.target, frozenset({"a:b"})) for net in nets])
    assert list(failed) == [nets[1].target]
    assert isinstance(failed[nets[1].target], Unavailable)


async def test_a_workspace_is_not_deleted_with_credentials_of_others(account: Any) -> None:
    """A recursive delete would delete credentials that others created; without it IBM Cloud refuses."""
    workspace = await account.ready("workspace", account.workspace())
    account.session.resource_controller().create_resource_key("theirs", workspace.id)
    with pytest.raises(InUse):
        await account.kinds["workspace"].driver.delete(Ref(workspace.id, workspace.target))
    assert await account.look("workspace", workspace) is not None


async def test_a_server_counts_as_created_although_the_next_read_fails(account: Any) -> None:
    """Its id is known: as a failed create it would be created a second time."""
    workspace = await account.ready("workspace", account.workspace())
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "power.get_network", count=None, status=503))
    made = await account.create("dhcp-server", account.dhcp(workspace))
    assert made.id.startswith(f"{workspace.id}/dhcp/")


async def test_a_deleted_gateway_that_is_still_listed_is_gone(account: Any) -> None:
    """terraform-provider-ibm#1783: waiting for it would hold the delete."""
    gateway = await account.ready("transit-gateway", account.gateway())
    Distorted(account.cloud, "GET", gateway.id, {"status": "deleted"})
    assert await account.look("transit-gateway", gateway) is None
