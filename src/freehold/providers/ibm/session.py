"""Access to one IBM Cloud account: credentials, addresses, and the vendor's SDK clients, built when first used."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any, Protocol
from urllib.parse import unquote, urlencode, urlsplit

import requests
from ibm_cloud_sdk_core import base_service
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies

from freehold.providers.ibm.errors import Identity, identity_of_key, identity_of_profile
from freehold.providers.ibm.tokens import SessionAuthenticator, SessionTokenManager

TRANSIT_VERSION = "2026-01-01"
CONNECTIONS = 32
"""The most sockets kept open to one host; no fewer than the threads of a port."""
_S3 = "s3"
_COS_GATE = Lock()
"""Held while a client of object storage is built: the session that builds them is not for several threads."""
POWER_READ = 25.0
"""Seconds to wait for bytes of PowerVS, whose own client waits minutes (docs/reference/ibm-cloud.md#powervs).

A process that is told to stop still ends within Kubernetes' half minute of grace.
"""

_REGION = re.compile(r"[a-z][a-z0-9]{1,15}(-[a-z0-9]{1,15}){0,3}")
"""Names of regions (``us-south``, ``dal``, ``ca-mon``), which cannot end a host name."""


@dataclass(frozen=True)
class ApiKey:
    """An API key, and the environment variable that it came from, for messages. The key is never shown.

    ``profile``: the id of a trusted profile that its identity assumes; empty for none.
    """

    api_key: str = field(repr=False)
    profile: str = ""
    variable: str = "IBMCLOUD_API_KEY"

    @property
    def identity(self) -> Identity:
        return identity_of_key(self.variable)


@dataclass(frozen=True)
class ComputeResource:
    """A trusted profile by its id, and the file with the token by which IAM knows this pod. It holds no secret."""

    profile: str
    token_file: str

    @property
    def identity(self) -> Identity:
        return identity_of_profile(self.profile, self.token_file)


@dataclass(frozen=True)
class Endpoints:
    """Base URLs of the services (docs/reference/ibm-cloud.md#common); regional ones have ``{region}``."""

    iam: str = "https://iam.cloud.ibm.com"
    resource_controller: str = "https://resource-controller.cloud.ibm.com"
    power: str = "https://{region}.power-iaas.cloud.ibm.com"
    vpc: str = "https://{region}.iaas.cloud.ibm.com/v1"
    transit: str = "https://transit.cloud.ibm.com/v1"
    tagging: str = "https://tags.global-search-tagging.cloud.ibm.com"
    search: str = "https://api.global-search-tagging.cloud.ibm.com"
    cos: str = "https://s3.{region}.cloud-object-storage.appdomain.cloud"

    @classmethod
    def from_base(cls, base: str) -> Endpoints:
        """Return all services below one URL, with a path prefix each: a simulated cloud."""
        base = base.rstrip("/")
        return cls(
            iam=f"{base}/iam",
            resource_controller=f"{base}/resource-controller",
            power=f"{base}/power/{{region}}",
            vpc=f"{base}/vpc/{{region}}/v1",
            transit=f"{base}/transit/v1",
            tagging=f"{base}/tagging",
            search=f"{base}/search",
            cos=f"{base}/cos/{{region}}",
        )


def _region_url(template: str, region: str) -> str:
    """Return the base URL of one region. Raises ValueError for a name that cannot be a region's.

    Regions come from manifests and journals, and are part of the host that gets our token: ``thief.example/#`` must not
    be.
    """
    if not _REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no region or zone of IBM Cloud")
    return template.format(region=region)


def _refuse_path_traps(url: str) -> None:
    """Raise ValueError for a path with a segment that is empty, ``.`` or ``..``.

    Segments are ids from journals. The SDKs quote them, but these pass: a server reads ``connections/..`` as the
    gateway itself, and ``connections/`` as the list.
    """
    segments = unquote(urlsplit(url).path).split("/")[1:]
    if segments != [""] and not {"", ".", ".."}.isdisjoint(segments):
        raise ValueError(f"a part of the path of {url} is no id")


class Mount(Protocol):
    """Puts another transport under the SDKs: tests reach a simulated cloud without a socket so."""

    def http(self, session: requests.Session) -> None: ...

    def s3(self, client: Any) -> None: ...


def _proxies_for(url: str) -> dict[str, str]:
    """Return the environment's proxies for ``url``; none for this machine, where only a simulated cloud can be."""
    host = urlsplit(url).hostname or ""
    return {} if host in ("localhost", "::1") or host.startswith("127.") else dict(get_environ_proxies(url))


class _HttpSession(requests.Session):
    """A session with the environment's proxies and CA bundle, as in requests, but read once for each host.

    requests reads the whole environment at each request, a third of what a call costs us in CPU; and a netrc entry for
    a host would replace our token (https://github.com/psf/requests/issues/3929).
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self._bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        self._proxies: dict[str, dict[str, str]] = {}

    def request(self, method: Any, url: Any, *args: Any, **settings: Any) -> Any:
        _refuse_path_traps(url)
        return super().request(method, url, *args, **settings)

    def get_redirect_target(self, resp: Any) -> None:
        """Follow no redirect: a redirected DELETE would become a GET, whose 200 would look like a success."""

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Prepare what the SDKs give. Cookies are not sent back: the SDKs give none, and their APIs ask for none.

        requests would merge it with settings that this session has not, which took half of its time.
        """
        prepared = requests.PreparedRequest()
        prepared.prepare_method(request.method)
        prepared.prepare_url(request.url, urlencode(request.params, doseq=True))
        prepared.prepare_headers({**self.headers, **request.headers})
        prepared.prepare_body(request.data, request.files, request.json)
        if request.auth:
            prepared.prepare_auth(request.auth)
        return prepared

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        host = urlsplit(url).netloc
        if host not in self._proxies:
            self._proxies[host] = _proxies_for(url)
        if verify is True or verify is None:
            verify = self._bundle or verify
        return {
            "proxies": {**self._proxies[host], **(proxies or {})},
            "stream": self.stream if stream is None else stream,
            "verify": self.verify if verify is None else verify,
            "cert": self.cert if cert is None else cert,
        }


def _adapter_for_now(**_: Any) -> HTTPAdapter:
    """Return what a client of the SDK core has until it gets our session.

    The core's own reads all certificates that it trusts, 0.02 CPU-seconds for each client.
    """
    return HTTPAdapter()


base_service.SSLHTTPAdapter = _adapter_for_now


@cache
def _cos_clients() -> Any:
    """Return the session of ``ibm_boto3`` that builds all clients: it reads S3's model once, and nobody's keys."""
    import ibm_boto3

    return ibm_boto3.session.Session()


class IbmSession:
    """The SDK clients of one account, one authenticator under all of them.

    The SDKs' own retries stay off: they repeat POSTs (docs/reference/ibm-cloud.md#sdks). ``timeout`` is seconds to
    connect and seconds to wait for bytes. Clients may be used from several threads.
    """

    def __init__(
        self,
        credentials: ApiKey | ComputeResource,
        endpoints: Endpoints | None = None,
        mount: Mount | None = None,
        timeout: tuple[float, float] = (3.0, 10.0),
    ) -> None:
        self.identity = credentials.identity
        """Whose requests they are, for messages."""
        if isinstance(credentials, ComputeResource):
            self._secret, token_file = "", credentials.token_file
        else:
            self._secret, token_file = credentials.api_key, ""
        self._endpoints = endpoints or Endpoints()
        self._mount = mount
        self._timeout = timeout
        self._clients: dict[tuple[str, str], Any] = {}
        self._gate = Lock()
        self._http = _HttpSession()
        pool = HTTPAdapter(pool_maxsize=CONNECTIONS, max_retries=0)
        self._http.mount("https://", pool)
        self._http.mount("http://", pool)
        if mount is not None:
            mount.http(self._http)
        manager = SessionTokenManager(
            self._secret, self._endpoints.iam, self._http, timeout, profile=credentials.profile, token_file=token_file
        )
        self._authenticator = SessionAuthenticator(manager)

    @property
    def http(self) -> requests.Session:
        """The transport of all clients except COS's."""
        return self._http

    @property
    def tokens(self) -> SessionTokenManager:
        return self._authenticator.token_manager

    @property
    def account_id(self) -> str:
        """The account of the credentials; empty before the first token."""
        return self.tokens.account_id

    @property
    def iam_id(self) -> str:
        """The identity of the requests (``IBMid-…``, ``iam-ServiceId-…``); empty before the first token."""
        return self.tokens.iam_id

    def scrub(self, text: str) -> str:
        """Return ``text`` without the API key and the tokens, should a vendor ever echo one."""
        for secret in (self._secret, self.tokens.access_token, self.tokens.exchanged):
            text = text.replace(secret, "***") if secret else text
        return text

    def close(self) -> None:
        """Close the sockets; object storage has its own."""
        self._http.close()
        for (name, _), client in self._clients.items():
            if name == _S3:
                client.close()

    def vpc(self, region: str) -> Any:
        """Return ``VpcV1`` of one region."""
        return self._client("ibm_vpc", "VpcV1", _region_url(self._endpoints.vpc, region))

    def transit(self) -> Any:
        url = self._endpoints.transit
        return self._client("ibm_cloud_networking_services", "TransitGatewayApisV1", url, version=TRANSIT_VERSION)

    def resource_controller(self) -> Any:
        return self._client("ibm_platform_services", "ResourceControllerV2", self._endpoints.resource_controller)

    def resource_manager(self) -> Any:
        return self._client("ibm_platform_services", "ResourceManagerV2", self._endpoints.resource_controller)

    def tagging(self) -> Any:
        return self._client("ibm_platform_services", "GlobalTaggingV1", self._endpoints.tagging)

    def search(self) -> Any:
        return self._client("ibm_platform_services", "GlobalSearchV2", self._endpoints.search)

    def power(self, region: str) -> Any:
        """Return ``PowerV1`` of one PowerVS region (``dal``, not ``dal10``)."""
        url, read = _region_url(self._endpoints.power, region), max(self._timeout[1], POWER_READ)
        return self._client("freehold.providers.ibm.power", "PowerV1", url, read)

    def cos(self, region: str) -> Any:
        """Return an S3 client of ``ibm_boto3`` for one region, authenticated by the shared token."""
        with self._gate:
            client = self._clients.get((_S3, region))
            if client is None:
                client = self._clients[_S3, region] = self._build_cos(region)
            return client

    def _build_cos(self, region: str) -> Any:
        from ibm_botocore import UNSIGNED
        from ibm_botocore.client import Config

        connect, read = self._timeout
        endpoint = _region_url(self._endpoints.cos, region)
        config = Config(
            signature_version=UNSIGNED,
            s3={"addressing_style": "path"},
            connect_timeout=connect,
            read_timeout=read,
            max_pool_connections=CONNECTIONS,
            retries={"total_max_attempts": 1},
            proxies=_proxies_for(endpoint),
        )
        with _COS_GATE:
            client = _cos_clients().client("s3", endpoint_url=endpoint, region_name=region, config=config)
        client.meta.events.register("before-sign.s3", self._sign)
        if self._mount is not None:
            self._mount.s3(client)
        return client

    def _sign(self, request: Any, **_: Any) -> None:
        request.headers["Authorization"] = f"Bearer {self.tokens.get_token()}"

    def _client(self, module: str, name: str, url: str, read: float | None = None, **arguments: Any) -> Any:
        """Return the client of this address. Its SDK is imported when first used: together they take half a second."""
        with self._gate:
            client = self._clients.get((name, url))
            if client is None:
                client = getattr(import_module(module), name)(authenticator=self._authenticator, **arguments)
                client.set_service_url(url)
                client.set_http_client(self._http)
                # Set here: an argument of a call is a parameter of the API (docs/reference/ibm-cloud.md#sdks).
                client.set_http_config({"timeout": (self._timeout[0], read or self._timeout[1])})
                self._clients[name, url] = client
            return client
