"""A region or zone from a manifest or a journal is part of a host name: it must not send our token elsewhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from requests.adapters import BaseAdapter

from freehold.engine.errors import Invalid
from freehold.engine.port import InlinePort
from freehold.engine.resources import NodeKey, Ref, Want
from freehold.providers.ibm.registry import ibm_kinds
from freehold.providers.ibm.session import ApiKey, IbmSession
from harness.stepping import run_blocking

EVIL = "thief.example/#"


class Tap(BaseAdapter):
    """Records the hosts to which requests are sent, and does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts: set[str] = set()

    def send(self, request: Any, *_: Any, **__: Any) -> Any:
        self.hosts.add(urlsplit(request.url).netloc)
        raise requests.ConnectionError("nobody answers")

    def close(self) -> None:
        """Nothing is open."""


class Mounted:
    """Puts the tap under the SDKs."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap

    def http(self, session: Any) -> None:
        session.mount("https://", self._tap)
        session.mount("http://", self._tap)

    def s3(self, client: Any) -> None:
        """COS has its own sockets; no client may be built at all."""


@pytest.fixture
def tap() -> Tap:
    return Tap()


@pytest.fixture
def session(tap: Tap) -> IbmSession:
    return IbmSession(ApiKey("a-key"), mount=Mounted(tap))


@pytest.mark.parametrize("service", ["vpc", "power", "cos"])
@pytest.mark.parametrize("region", [EVIL, "thief.example", "a@thief.example:443/", "us-south\n", "US", ""])
def test_no_client_is_built_for_an_invalid_region(session: IbmSession, service: str, region: str) -> None:
    """``https://{region}.iaas.cloud.ibm.com`` with ``thief.example/#`` is a URL of thief.example."""
    with pytest.raises(ValueError, match="region"):
        getattr(session, service)(region)


def _signed_in(session: IbmSession) -> None:
    """The state after the first token: the next request carries it."""
    session.tokens.access_token = "a-token"
    session.tokens._replace_at = float("inf")
    session.tokens._claims = {"account": {"bss": "0" * 32}}


def test_an_id_in_a_forged_journal_sends_no_token_to_its_host(session: IbmSession, tap: Tap) -> None:
    """A user who may edit the annotations can write an id there, and the engine reads it."""
    _signed_in(session)
    driver = ibm_kinds(session, InlinePort())["vpc"].driver

    with pytest.raises(Invalid, match="region"):
        run_blocking(driver.observe([Ref(f"{EVIL}/r006-1")]))

    assert tap.hosts == set()


def test_the_zone_of_a_manifest_sends_no_token_to_its_host(session: IbmSession, tap: Tap) -> None:
    """Without the create-infra annotation the zone is not checked against the cloud before it is used."""
    _signed_in(session)
    driver = ibm_kinds(session, InlinePort())["dhcp-server"].driver
    key = NodeKey("dhcp-server", "network")
    request = {"workspace": "d0d0d0d0-0000-4000-8000-000000000000", "zone": EVIL, "name": "n", "network": "n"}

    with pytest.raises(Invalid, match="region"):
        run_blocking(driver.find([Want(key, "n", request)]))

    assert tap.hosts == set()


def test_ordinary_regions_pass(session: IbmSession, tap: Tap) -> None:
    """The check accepts all regions of IBM Cloud: us-south, br-sao, dal, eu-de, ca-mon2."""
    for region in ("us-south", "eu-de", "jp-tok", "ca-mon2"):
        assert session.vpc(region).service_url == f"https://{region}.iaas.cloud.ibm.com/v1"
    assert session.power("dal").service_url == "https://dal.power-iaas.cloud.ibm.com"
