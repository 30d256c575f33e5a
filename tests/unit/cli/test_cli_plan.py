"""What a plan is asked for, and plans that a server makes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.cli.commands.plan import PlanRequest, find_wished
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access, ServeOptions
from freehold.cli.local.served_plans import Wished, plans_of_server
from freehold.cli.local.serving_address import kubeconfig
from freehold.cli.local.session import open_session
from freehold.cli.objects.kinds import OURS
from freehold.cli.objects.manifests import ManifestDocument
from freehold.controllers.plan.plan import Plan, PlanAction, PlanRow, dump_plan
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, key_of

ROWS = (
    PlanRow("workspace", "main", "team-a", PlanAction.REUSE, "found by the name in the spec", "7ae595e3-0fda"),
    PlanRow("vpc", "main", "prod-vpc", PlanAction.CREATE, "does not exist", values={"zone": ["a"]}),
)


class Server:
    """Answers with ``plans``, or with one of its own form."""

    def __init__(self, *plans: Json) -> None:
        self._plans = plans

    async def request(self, method: str, path: str, *, body: Json) -> Json:
        return {"plans": json.loads(json.dumps(self._plans))}


PLAN = dump_plan(Plan("n/a", ROWS))


async def asked(server: Any) -> list[Plan] | None:
    return await plans_of_server(server, Wished([{}]), frozenset())


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param({name: value for name, value in PLAN.items() if name != "lacking"}, id="a field fewer"),
        pytest.param({**PLAN, "rows": [{**PLAN["rows"][0], "action": "make"}]}, id="a word that is not used now"),
        pytest.param({**PLAN, "later": ()}, id="a field more"),
    ],
)
async def test_plans_of_a_server_of_another_version_count_as_none(plan: Json) -> None:
    """The plan is then made by this version itself."""
    assert await asked(Server(PLAN)) is not None
    assert await asked(Server(PLAN, plan)) is None


AWS = next(each for each in OURS if each.kind == "AWSCluster")


def cluster(namespace: str, **metadata: Any) -> Json:
    metadata |= {"name": "prod", "namespace": namespace}
    return {"apiVersion": AWS.api_version, "kind": AWS.kind, "metadata": metadata, "spec": {"region": "us-east-1"}}


async def wished_of(client: KubeClient, folder: Path, *documents: Json) -> Sequence[Json]:
    """The objects that a plan of these documents is made of."""
    config = folder / "kubeconfig"
    config.write_text(kubeconfig(client.connection.server))
    access = Access(None, ServeOptions(operator=False), str(config))
    asked = PlanRequest(["prod.yaml"], [ManifestDocument(each, "prod.yaml") for each in documents], (), "")
    async with open_session(access) as session:
        return (await find_wished(session, access, asked)).objects


async def test_a_missing_namespace_is_told_with_the_command_that_makes_it_and_nothing_else_is_taken_for_the_object(
    client: KubeClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object of the name in another namespace has a journal, which in this one would be a copy."""
    await client.create(AWS, cluster("default", annotations={JOURNAL_ANNOTATION: "its own"}))
    (obj,) = await wished_of(client, tmp_path, cluster("team"))
    assert str(key_of(obj)) == "team/prod"
    assert JOURNAL_ANNOTATION not in (obj["metadata"].get("annotations") or {})
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no namespace team; this is planned as if there were." in said
    assert said.endswith("To make it: freehold up -f prod.yaml --create-namespace")


async def test_a_manifest_of_which_nothing_can_be_planned_is_refused(client: KubeClient, tmp_path: Path) -> None:
    """A script would take "nothing to do" for an answer."""
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(CliError, match="nothing is planned: this has ConfigMap; plans are made of IBMPowerVSCluster"):
        await wished_of(client, tmp_path, settings)
