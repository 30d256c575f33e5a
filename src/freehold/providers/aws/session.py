"""How to reach one AWS region as one identity: credentials, addresses, and botocore's clients."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from freehold.providers.aws.attribute_cache import Seldom
from freehold.providers.aws.credentials import (
    Credentials,
    Keys,
    OwnProcessCredentials,
    RoleCredentials,
    StaticCredentials,
)
from freehold.providers.aws.identities import AssumedRole, Identity, StaticKeys
from freehold.providers.aws.permissions.delete_binding import Bound, NotBound, bind, bind_to_marks

CONNECTIONS = 32
"""Sockets kept open to one host; no fewer than the threads of a port."""
CONNECT, READ = 3.0, 10.0
"""Seconds to connect, and to wait for bytes. botocore's own are 60 each."""
ATTEMPTS = 1
"""How often botocore sends a request: the retries are ours (ADR 1)."""

_REGION = re.compile(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}")
"""``us-east-1``, ``us-gov-west-1``, ``us-iso-east-1``: nothing that could end a host name."""

Mount = Callable[[Any], None]
"""Puts another transport under a client: how tests reach a simulated cloud without a socket."""


class Renewal(NamedTuple):
    """Credentials to fetch before the next request; ``subject`` is fit for a person."""

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
        self.partition = _partition(region)
        self.caller: Mapping[str, str] = {}
        """``Account`` and ``Arn`` of the identity; empty before it was asked for."""
        self.seldom = Seldom(wall)
        """What the clients of this session know of resources without asking."""
        self.not_bound = _why_not_bound(identity)
        """Why AWS does not check whose a resource is before a delete; None where it does, or where it cannot."""
        self._endpoint = endpoint
        self._mount = mount
        self._wall = wall
        self._gate = Lock()
        self._clients: dict[str, Any] = {}
        self._sending: Any = None
        self._source: AwsSession | None = None
        if isinstance(identity, AssumedRole):
            self._source = AwsSession(identity.source, region, endpoint=endpoint, mount=mount, wall=wall)
        self._credentials = self._credentials_of(identity, wall)

    def for_deletes(self, uuid: str) -> AwsSession | None:
        """The same role in a session in which AWS refuses deletes of what does not have this owner's uuid.

        None where no role is assumed, and where :attr:`not_bound` says why there is none.
        """
        return self._narrowed(lambda role: bind(uuid, role.policy, role.policy_arns))

    def for_collected(self, marks: Mapping[str, str]) -> AwsSession | None:
        """The same in one in which AWS refuses deletes of what has none of these tags: for what others made.

        That these do not fit, with a long name in them, says nothing of the sessions of owners.
        """
        return self._narrowed(lambda role: bind_to_marks(marks, role.policy, role.policy_arns))

    def _narrowed(self, bind_role: Callable[[AssumedRole], Bound | NotBound]) -> AwsSession | None:
        identity = self.identity
        if not isinstance(identity, AssumedRole) or self.not_bound:
            return None
        bound = bind_role(identity)
        if isinstance(bound, NotBound):
            return None
        return AwsSession(
            replace(identity, policy=bound.policy), self.region,
            endpoint=self._endpoint, mount=self._mount, wall=self._wall,
        )  # fmt: skip

    def _credentials_of(self, identity: Identity, wall: Callable[[], float]) -> Credentials:
        if isinstance(identity, StaticKeys):
            return StaticCredentials(identity)
        if isinstance(identity, AssumedRole):
            assert self._source is not None
            source = self._source
            return RoleCredentials(identity, lambda: source.client("sts"), wall)
        return OwnProcessCredentials(_find_own)

    def renewals(self) -> tuple[Renewal, ...]:
        """What must be fetched before the next request, in this order: the source's credentials before a role's."""
        before = self._source.renewals() if self._source else ()
        if not self._credentials.stale:
            return before
        operation = "assume_role" if self._source else "load_credentials"
        return (*before, Renewal(operation, self._credentials.renew, self.identity.origin))

    @property
    def access_key(self) -> str:
        """The id of the key that requests are signed with now; no secret."""
        return self._credentials.get_frozen_credentials().access_key

    def forget(self, refused: str) -> bool:
        """AWS says that the access key ``refused`` has expired. Whether another one can be fetched."""
        return self._credentials.forget(refused)

    def scrub(self, text: str) -> str:
        """``text`` without secrets, should AWS ever echo one."""
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
        """botocore's client of ``service`` (``ec2``, ``elbv2``)."""
        with self._gate:
            if service not in self._clients:
                self._clients[service] = self._build(service)
            return self._clients[service]

    @property
    def is_known_region(self) -> bool:
        """Whether botocore lists it. One that it does not list may be newer, or a slip of the pen."""
        return self.region in _botocore_session().get_available_regions("ec2", self.partition)

    def page_tokens(self, service: str, operation: str) -> tuple[str, str]:
        """The members that hold the token of the next page, in request and reply; empty for a list without pages."""
        name = self.client(service).meta.method_to_api_mapping[operation]
        pages = _models().load_service_model(service, "paginators-1")["pagination"].get(name, {})
        return str(pages.get("input_token", "")), str(pages.get("output_token", ""))

    def _build(self, service: str) -> Any:
        if self._sending is None:  # ten milliseconds, and an identity has a client of each service
            self._sending = _sending_session()
            self._sending.register_component("credential_provider", _Signing(self._credentials))
        client = self._sending.create_client(
            service, region_name=self.region, endpoint_url=self._endpoint or None, config=self._config()
        )
        client.meta.events.register_first("before-parameter-build", _refuse_invented_token)
        client.meta.events.register("before-call.s3", _refuse_redirect)
        client.meta.events.register_last("before-call", _encode_once)
        if self._mount is not None:
            self._mount(client)
        return client

    def _config(self) -> Any:
        from botocore.config import Config

        return Config(
            connect_timeout=CONNECT,
            read_timeout=READ,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=CONNECTIONS,
            proxies={} if _is_local(self._endpoint) else None,
            s3={"addressing_style": "path"} if self._endpoint else None,
        )


def _why_not_bound(identity: Identity) -> NotBound | None:
    """Known before any owner is: the uuids of all are of one length."""
    if not isinstance(identity, AssumedRole):
        return None
    found = bind(str(UUID(int=0)), identity.policy, identity.policy_arns)
    return found if isinstance(found, NotBound) else None


class _Signing:
    """Our credentials with the interface of botocore's (botocore.credentials.Credentials), and of their provider."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def load_credentials(self) -> _Signing:
        return self

    def get_frozen_credentials(self) -> Keys:
        return self._credentials.get_frozen_credentials()

    def get_deferred_property(self, name: str) -> Callable[[], Any]:
        """For addresses that hold the account's id, which no service here has."""
        return lambda: getattr(self.get_frozen_credentials(), name, None)


@cache
def _without_identity() -> Any:
    """For what is the same for every identity: a session takes ten milliseconds."""
    from botocore.session import Session

    return Session()


def _models() -> Any:
    """The service models on disk, read once: that of EC2 takes 0.2 CPU-seconds and 30 MB."""
    return _without_identity().get_component("data_loader")


def _botocore_session() -> Any:
    from botocore.session import Session

    session = Session()
    session.register_component("data_loader", _models())
    # The global address of STS is in one region and gives tokens that opt-in regions refuse.
    session.set_config_variable("sts_regional_endpoints", "regional")
    return session


def _sending_session() -> Any:
    """Its clients, and those that fetch its credentials, say who we are."""
    from botocore.config import Config

    session = _botocore_session()
    session.set_default_client_config(Config(user_agent=_user_agent(session)))
    return session


def _user_agent(session: Any) -> str:
    """By this CloudTrail tells our requests from other tools' of the same account, and those of one application.

    botocore's own agent is put together twice for each request, which took a tenth of its CPU.
    """
    from botocore import __version__
    from botocore.useragent import sanitize_user_agent_string_component as sanitize

    agent = f"freehold Botocore/{__version__}"
    application = session.get_config_variable("user_agent_appid")
    return f"{agent} app/{sanitize(application, allow_hash=False)}" if application else agent


def _find_own() -> Any:
    return _sending_session().get_credentials()


def _partition(region: str) -> str:
    """The partition of a region. Regions come from manifests and name the host that is sent our requests."""
    if not _REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no region of AWS")
    from botocore.exceptions import UnknownRegionError

    try:
        return str(_without_identity().get_partition_for_region(region))
    except UnknownRegionError:
        raise ValueError(f"{region!r} is no region of AWS") from None


def _is_local(url: str) -> bool:
    """Whether a simulated cloud on this machine is meant, which no proxy can reach."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _refuse_invented_token(params: dict[str, Any], model: Any, **_: Any) -> None:
    """Raise ValueError where botocore would make up a client token.

    That one ends with the process: a repeated create after a crash makes a second resource (ADR 1).
    """
    if missing := [name for name in model.idempotent_members if name not in params]:
        raise ValueError(f"{model.name} needs the client token {missing[0]}, derived from its owner and node")


def _refuse_redirect(context: dict[str, Any], **_: Any) -> None:
    """Let botocore not send a request again to the region in which S3 says that the bucket is.

    A bucket in another region is not the one that was meant, and nothing limits or counts the second request.
    """
    context["s3_redirect"] = {**context.get("s3_redirect", {}), "redirected": True}


def _encode_once(params: dict[str, Any], **_: Any) -> None:
    """Make the text of a form that has two hundred ids in it: botocore makes it to sign it, and again to send it."""
    if isinstance(params["body"], dict):
        params["body"] = urlencode(params["body"], doseq=True).encode()
