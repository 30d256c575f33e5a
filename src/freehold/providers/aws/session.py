"""Access to one AWS region as one identity: credentials, addresses, and botocore's clients."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from freehold.providers.aws.attribute_cache import AttributeCache
from freehold.providers.aws.capacity_log import CapacityLog
from freehold.providers.aws.credentials import (
    Keys,
    OwnProcessCredentials,
    RoleCredentials,
    SigningCredentials,
    StaticCredentials,
    may_ask_node,
)
from freehold.providers.aws.identities import AssumedRole, Identity, StaticKeys
from freehold.providers.aws.permissions.delete_binding import BoundPolicy, NotBound, bind_to_marks, bind_to_owner
from freehold.providers.aws.service_models import model_loader, shared_session

CONNECTIONS = 32
"""The most sockets kept open to one host; no fewer than the threads of a port."""
CONNECT, READ = 3.0, 10.0
"""Seconds to connect, and to wait for bytes. botocore's own are 60 each."""
_RETRIES = {"mode": "standard", "total_max_attempts": 1}
"""botocore sends a request once: the retries are ours (ADR 1)."""

_REGION = re.compile(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}")
"""Names of regions (``us-east-1``, ``us-gov-west-1``, ``us-iso-east-1``), which cannot end a host name."""

Mount = Callable[[Any], None]
"""Puts another transport under a client: tests reach a simulated cloud without a socket so."""


class Renewal(NamedTuple):
    """A fetch of credentials that is due before the next request; ``subject`` is for people."""

    operation: str
    run: Callable[[], None]
    subject: str


class AwsSession:
    """The clients of one identity in one region. Clients may be used from several threads.

    ``endpoint`` is the base URL of a simulated cloud, empty for the real one. Raises ValueError for a region that AWS
    cannot have.
    """

    def __init__(
        self,
        identity: Identity,
        region: str,
        *,
        endpoint: str = "",
        mount: Mount | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.identity = identity
        self.region = region
        self.partition = _partition_of(region)
        self.caller: Mapping[str, str] = {}
        """The identity's ``Account`` and ``Arn``; empty until they were asked for."""
        self.asking_caller = asyncio.Lock()
        self.attribute_cache = AttributeCache(wall)
        """Attributes that the clients of this session share."""
        self.capacity_log = CapacityLog(wall)
        """Where AWS lately had no capacity, for all clients of this session."""
        self.not_bound = _why_not_bound(identity)
        """The reason why AWS does not check the owner before a delete; None where it does, or where it cannot."""
        self._endpoint = endpoint
        self._mount = mount
        self._wall = wall
        self._gate = Lock()
        self._clients: dict[str, Any] = {}
        self._sending: Any = None
        self._source: AwsSession | None = None
        if isinstance(identity, AssumedRole):
            self._source = self._session_of(identity.source)
        self._credentials = self._credentials_of(identity, wall)

    def owner_session(self, uuid: str) -> AwsSession | None:
        """Return a session of the same role in which AWS refuses deletes of resources without this owner's uuid.

        It is None where no role is assumed, and where :attr:`not_bound` gives a reason.
        """
        return self._narrow(lambda role: bind_to_owner(uuid, role.policy, role.policy_arns))

    def collection_session(self, marks: Mapping[str, str]) -> AwsSession | None:
        """Return a session of the same role in which AWS refuses deletes of resources without one of these tags.

        It serves the collection. If these tags, with a long name in them, do not fit, owners' sessions may still be
        bound.
        """
        return self._narrow(lambda role: bind_to_marks(marks, role.policy, role.policy_arns))

    def _narrow(self, bind_role: Callable[[AssumedRole], BoundPolicy | NotBound]) -> AwsSession | None:
        identity = self.identity
        if not isinstance(identity, AssumedRole) or self.not_bound:
            return None
        bound = bind_role(identity)
        if isinstance(bound, NotBound):
            return None
        return self._session_of(replace(identity, policy=bound.policy))

    def _session_of(self, identity: Identity) -> AwsSession:
        """Return a session of another identity that sends to the same place."""
        return AwsSession(identity, self.region, endpoint=self._endpoint, mount=self._mount, wall=self._wall)

    def _credentials_of(self, identity: Identity, wall: Callable[[], float]) -> SigningCredentials:
        if isinstance(identity, StaticKeys):
            return StaticCredentials(identity)
        if isinstance(identity, AssumedRole):
            assert self._source is not None
            source = self._source
            return RoleCredentials(identity, lambda: source.client("sts"), wall)
        return OwnProcessCredentials(lambda: _find_own_credentials(self.region))

    def due_renewals(self) -> tuple[Renewal, ...]:
        """Return the fetches due before the next request, in order: the source's credentials before a role's."""
        before = self._source.due_renewals() if self._source else ()
        if not self._credentials.stale:
            return before
        operation = "assume_role" if self._source else "load_credentials"
        return (*before, Renewal(operation, self._credentials.renew, self.identity.origin))

    @property
    def access_key(self) -> str:
        """The id of the key that requests are signed with now; no secret."""
        return self._credentials.get_frozen_credentials().access_key

    @property
    def keys(self) -> Keys:
        """The keys that requests are signed with now."""
        return self._credentials.get_frozen_credentials()

    def now(self) -> float:
        """Return the time that AWS counts by."""
        return self._wall()

    def require_life(self, seconds: float) -> None:
        """Make keys due for renewal that AWS refuses sooner than in so many seconds, where that is known."""
        self._credentials.require_life(seconds)

    def forget(self, refused: str) -> bool:
        """Forget the access key ``refused``, which AWS calls expired. Return whether another one can be fetched."""
        return self._credentials.forget(refused)

    def scrub(self, text: str) -> str:
        """Return ``text`` without secrets, should AWS ever echo one."""
        keys = self._credentials.get_frozen_credentials()
        for secret in (keys.secret_key, keys.token):
            text = text.replace(secret, "***") if secret else text
        return self._source.scrub(text) if self._source else text

    def close(self) -> None:
        """Close the sockets."""
        for client in self._clients.values():
            client.close()
        if self._source:
            self._source.close()

    def client(self, service: str) -> Any:
        """Return botocore's client of ``service`` (``ec2``, ``elbv2``)."""
        with self._gate:
            if service not in self._clients:
                self._clients[service] = self._build(service)
            return self._clients[service]

    @property
    def is_known_region(self) -> bool:
        """True if botocore lists the region. One that it does not list may be newer, or misspelled."""
        return self.region in _botocore_session().get_available_regions("ec2", self.partition)

    def _build(self, service: str) -> Any:
        if self._sending is None:  # built once: it takes ten milliseconds, and an identity has a client of each service
            self._sending = _sending_session()
            self._sending.register_component("credential_provider", _BotocoreCredentials(self._credentials))
        client = self._sending.create_client(
            service, region_name=self.region, endpoint_url=self._endpoint or None, config=self._config()
        )
        client.meta.events.register_first("before-parameter-build", _refuse_invented_token)
        client.meta.events.register("before-call.s3", _refuse_redirect)
        client.meta.events.register_last("before-call", _compute_once)
        if self._mount is not None:
            self._mount(client)
        return client

    def _config(self) -> Any:
        from botocore.config import Config

        return Config(
            connect_timeout=CONNECT,
            read_timeout=READ,
            retries=_RETRIES,
            max_pool_connections=CONNECTIONS,
            proxies={} if _is_local(self._endpoint) else None,
            s3={"addressing_style": "path"} if self._endpoint else None,
        )


def _why_not_bound(identity: Identity) -> NotBound | None:
    """Return why deletes cannot be bound. No owner is needed: all uuids are of one length."""
    if not isinstance(identity, AssumedRole):
        return None
    found = bind_to_owner(str(UUID(int=0)), identity.policy, identity.policy_arns)
    return found if isinstance(found, NotBound) else None


class _BotocoreCredentials:
    """Our credentials with the interface of botocore's (botocore.credentials.Credentials), and of their provider."""

    def __init__(self, credentials: SigningCredentials) -> None:
        self._credentials = credentials

    def load_credentials(self) -> _BotocoreCredentials:
        return self

    def get_frozen_credentials(self) -> Keys:
        return self._credentials.get_frozen_credentials()

    def get_deferred_property(self, name: str) -> Callable[[], Any]:
        """Return the property that addresses with the account's id need; no service here has such an address."""
        return lambda: getattr(self.get_frozen_credentials(), name, None)


@cache
def _builtin_handlers() -> Any:
    """Return what botocore does at each event, without a session's own handlers."""
    from botocore.hooks import HierarchicalEmitter
    from botocore.session import Session

    emitter = HierarchicalEmitter()
    Session(event_hooks=emitter)  # it registers them there
    return emitter


def _botocore_session() -> Any:
    from botocore.session import Session

    # A session would build the same handlers of its own, which takes seven of its ten milliseconds.
    session = Session(event_hooks=copy(_builtin_handlers()), include_builtin_handlers=False)
    session.register_component("data_loader", model_loader())
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=parse_time)
    # The global address of STS is in one region and gives tokens that opt-in regions refuse.
    session.set_config_variable("sts_regional_endpoints", "regional")
    return session


def parse_time(value: Any) -> datetime:
    """Return a timestamp of a reply. Those of EC2 are in one format, for whose parts botocore looks one by one."""
    if isinstance(value, str) and value.endswith("Z"):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    from botocore.utils import parse_timestamp

    parsed: datetime = parse_timestamp(value)
    return parsed


@cache
def find_sts_host(region: str) -> str:
    """Return the host of STS in a region, in the domain of its partition, wherever requests are sent."""
    from botocore.config import Config

    none = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "none")  # botocore would look for some
    plain = Config(ignore_configured_endpoint_urls=True, use_fips_endpoint=False, use_dualstack_endpoint=False)
    client = _botocore_session().create_client("sts", region_name=region, config=plain, **none)
    return urlsplit(client.meta.endpoint_url).hostname or ""


def _sending_session() -> Any:
    """Return a session whose clients, also those that fetch credentials, name us and wait no longer than ours."""
    from botocore.config import Config

    session = _botocore_session()
    session.set_default_client_config(
        Config(user_agent=_user_agent(session), connect_timeout=CONNECT, read_timeout=READ, retries=_RETRIES)
    )
    return session


def _user_agent(session: Any) -> str:
    """Return the user agent, by which CloudTrail tells our requests from other tools', and applications apart.

    botocore builds its own agent twice for each request, which took a tenth of its CPU.
    """
    from botocore import __version__
    from botocore.useragent import sanitize_user_agent_string_component as sanitize

    agent = f"freehold Botocore/{__version__}"
    application = session.get_config_variable("user_agent_appid")
    return f"{agent} app/{sanitize(application, allow_hash=False)}" if application else agent


def _find_own_credentials(region: str) -> Any:
    """Find the credentials of this process. STS is asked in the region of the environment, else in ``region``.

    botocore reads AWS_DEFAULT_REGION only, and without a region asks the global STS, which is in one partition.
    """
    # botocore logs each failed renewal with its traceback; what it raises is told by the pass that needed it.
    logging.getLogger("botocore.credentials").setLevel(logging.CRITICAL)
    session = _sending_session()
    session.set_config_variable(
        "region", os.environ.get("AWS_REGION") or session.get_config_variable("region") or region
    )
    if not may_ask_node(os.environ):
        session.get_component("credential_provider").remove("iam-role")
    return session.get_credentials()


def _partition_of(region: str) -> str:
    """Return the partition of a region. Regions come from manifests and are part of the host that gets our requests."""
    if not _REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no region of AWS")
    from botocore.exceptions import UnknownRegionError

    try:
        return str(shared_session().get_partition_for_region(region))
    except UnknownRegionError:
        raise ValueError(f"{region!r} is no region of AWS") from None


def _is_local(url: str) -> bool:
    """Return whether the URL is of a simulated cloud on this machine, which no proxy can reach."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _refuse_invented_token(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Raise ValueError where botocore would make up a client token.

    Such a token ends with the process: a repeated create after a crash makes a second resource (ADR 1).
    """
    if missing := [name for name in model.idempotent_members if name not in params]:
        raise ValueError(f"{model.name} needs the client token {missing[0]}, derived from its owner and node")


def _refuse_redirect(context: dict[str, Any], **_: Any) -> None:
    """Keep botocore from sending a request again to the region that S3 names for the bucket.

    A bucket in another region is not the one that was meant, and nothing limits or counts the second request.
    """
    context["s3_redirect"] = {**context.get("s3_redirect", {}), "redirected": True}


def _compute_once(params: dict[str, Any], **_: Any) -> None:
    """Encode a form, which may have two hundred ids, and name the host.

    botocore would do the one to sign it and again to send it, and the other for each list of what it signs.
    """
    if isinstance(params["body"], dict):
        params["body"] = urlencode(params["body"], doseq=True).encode()
    params["headers"]["Host"] = urlsplit(params["url"]).netloc
