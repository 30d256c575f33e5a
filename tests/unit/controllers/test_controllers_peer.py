"""The operator reads the CRD of what it serves before it starts: two controllers must not share an object."""

from __future__ import annotations

import re

import pytest

from freehold.api import names
from freehold.controllers.peers import ConflictingProvider, refuse_peers
from freehold.kube.errors import ConfigError, Forbidden, KubeError, ObjectNotFound, ServerUnavailable
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.types.served import AWS_ROLE_IDENTITY
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.provider import IBM
from freehold.providers.registry import EVERYTHING, Kinds

CRD = f"{ibm_names.POWERVS_CLUSTER_PLURAL}.{names.INFRASTRUCTURE_GROUP}"


class Server:
    """An API server with one answer, for the CRD of ``name``; the others are ours."""

    def __init__(self, answer: Json | KubeError, name: str = CRD) -> None:
        self._answer, self._name = answer, name

    async def get(self, resource: Resource, key: Key) -> Json:
        assert resource.plural == "customresourcedefinitions"
        if key.name != self._name:
            return {"metadata": {"name": key.name}}
        if isinstance(self._answer, KubeError):
            raise self._answer
        return self._answer


def crd(labels: dict[str, str] | None) -> Json:
    return {"metadata": {"name": CRD, "labels": labels}}


@pytest.mark.parametrize("labels", [None, {}, {names.PROVIDER_LABEL: "infrastructure-freehold"}])
async def test_our_own_crd_is_served(labels: dict[str, str] | None) -> None:
    await refuse_peers(Server(crd(labels)), EVERYTHING)


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        (CRD, "infrastructure-ibmcloud"),
        (AWS_CLUSTER.crd, "infrastructure-aws"),
        (AWS_ROLE_IDENTITY.crd, "infrastructure-aws"),
    ],
)
async def test_a_crd_installed_by_upstream_is_refused(name: str, provider: str) -> None:
    """An identity too: upstream's controller is there, and its webhooks are asked before ours could be."""
    said = f"CRD {name} belongs to provider {provider}: two controllers must not serve one object. Uninstall it first"
    with pytest.raises(ConflictingProvider, match=re.escape(said)):
        await refuse_peers(Server(crd({names.PROVIDER_LABEL: provider}), name), EVERYTHING)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ObjectNotFound("gone"), f"does not serve {CRD}: apply deploy/crds first"),
        (
            Forbidden("User 'dev' cannot get it"),
            "User 'dev' cannot get it: .* grant 'get' on customresourcedefinitions",
        ),
    ],
)
async def test_the_message_tells_what_to_do_if_the_crd_cannot_be_read(error: KubeError, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        await refuse_peers(Server(error), EVERYTHING)


async def test_without_an_answer_of_the_server_nothing_is_served() -> None:
    with pytest.raises(ServerUnavailable):
        await refuse_peers(Server(ServerUnavailable("no connection")), EVERYTHING)


async def test_crds_of_a_provider_that_is_not_served_are_not_asked_for() -> None:
    absent = Server(ObjectNotFound("gone"), AWS_CLUSTER.crd)
    await refuse_peers(absent, Kinds((IBM,)))
    with pytest.raises(ConfigError):
        await refuse_peers(absent, EVERYTHING)
