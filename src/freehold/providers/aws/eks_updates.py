"""Changes of an EKS cluster: which are possible, and the next one. EKS takes one update at a time, of one sort.

Sources: docs/reference/aws.md#eks-clusters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from freehold.engine.errors import CloudError, Invalid, NotReady, Surpassed
from freehold.engine.resources import Observed, Request
from freehold.providers.aws import eks
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.eks import SERVICE
from freehold.providers.aws.eks_cluster_view import decode

ACCESS_MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
"""The modes, in the only order in which EKS changes them, one step at a time."""
LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_SUPPORTED = ("STANDARD_SUPPORT", "EXTENDED_SUPPORT")


def encryption(key: str) -> list[Json]:
    """Return the configuration by which the Secrets of a cluster are encrypted with a key."""
    return [{"resources": ["secrets"], "provider": {"keyArn": key}}]


class Version(NamedTuple):
    """A version of Kubernetes, as EKS counts them."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version | None:
        found = re.fullmatch(r"(\d+)\.(\d+)", text)
        return cls(int(found[1]), int(found[2])) if found else None

    @property
    def next(self) -> Version:
        return Version(self.major, self.minor + 1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


# -- the sorts of updates -----------------------------------------------------------------------------------------


class Sort(NamedTuple):
    """A sort of update: the attributes that it changes together, its operation, and the parameters of that.

    ``parameters`` gets all attributes that a cluster shall have after the update.
    """

    attributes: tuple[str, ...]
    operation: str
    parameters: Callable[[Request], Json]


def _endpoint(wanted: Request) -> Json:
    public = bool(wanted["endpoint_public"])
    access: Json = {"endpointPublicAccess": public, "endpointPrivateAccess": bool(wanted["endpoint_private"])}
    if public and wanted["public_cidrs"]:
        access["publicAccessCidrs"] = list(wanted["public_cidrs"])
    return {"resourcesVpcConfig": access}


def _network(wanted: Request) -> Json:
    members = {"subnetIds": list(wanted["subnets"]), "securityGroupIds": list(wanted["security_groups"])}
    return {"resourcesVpcConfig": members}


def _logging(wanted: Request) -> Json:
    on = list(wanted["logging"])
    rows = [{"types": on, "enabled": True}, {"types": [each for each in LOG_TYPES if each not in on], "enabled": False}]
    return {"logging": {"clusterLogging": [row for row in rows if row["types"]]}}


SORTS: tuple[Sort, ...] = (
    Sort(("endpoint_public", "endpoint_private", "public_cidrs"), "update_cluster_config", _endpoint),
    Sort(("subnets", "security_groups"), "update_cluster_config", _network),
    Sort(("logging",), "update_cluster_config", _logging),
    Sort(
        ("access_mode",),
        "update_cluster_config",
        lambda wanted: {"accessConfig": {"authenticationMode": wanted["access_mode"]}},
    ),
    Sort(
        ("upgrade_policy",),
        "update_cluster_config",
        lambda wanted: {"upgradePolicy": {"supportType": wanted["upgrade_policy"]}},
    ),
    Sort(
        ("encryption_key",),
        "associate_encryption_config",
        lambda wanted: {"encryptionConfig": encryption(wanted["encryption_key"])},
    ),
    Sort(("version",), "update_cluster_version", lambda wanted: {"version": wanted["version"]}),
)
"""In the order in which they are sent: the longest, after which nodes can follow, last."""
MUTABLE = frozenset(name for sort in SORTS for name in sort.attributes)


def count_updates(changes: Request) -> int:
    """Return how many updates these changes take."""
    return sum(any(name in changes for name in sort.attributes) for sort in SORTS)


class Updates:
    """The updates of clusters. What was sent last is remembered only to say why it failed."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._sent: dict[str, str] = {}
        """The ids of the last updates, by cluster."""

    async def find_impossible(self, seen: Observed, changes: Request) -> Mapping[str, CloudError]:
        """Return the changes that EKS never makes, each with the next possible one."""
        found: dict[str, CloudError] = {}
        for name, wanted in changes.items():
            is_ = seen.attributes.get(name) or ""
            refusal = None
            if name == "version":
                refusal = await self._judge_version(seen, str(is_), str(wanted))
            elif name == "access_mode":
                refusal = _judge_access_mode(str(is_), str(wanted))
            elif name == "encryption_key" and is_:
                refusal = Invalid(
                    f"Secrets of cluster {seen.name} are encrypted with {is_}: EKS neither changes nor removes that",
                    advice="Write that key into the spec",
                )
            if refusal is not None:
                found[name] = refusal
        return found

    async def _judge_version(self, seen: Observed, is_: str, wanted: str) -> CloudError | None:
        """Refuse a version that is no minor version above: EKS goes up by one, and we never go down.

        Where the wanted one is out of support, EKS has gone beyond it by itself.
        """
        now, then = Version.parse(is_), Version.parse(wanted)
        if now is None or then is None or then == now.next:
            return None  # what is no version EKS refuses
        if then > now:
            return Invalid(
                f"cluster {seen.name} has version {is_}, and EKS goes up by one minor version, not to {wanted}",
                advice=f"Write {now.next} first",
            )
        support = await self._read_support()
        lasts = _SUPPORTED[:1] if seen.attributes.get("upgrade_policy") == "STANDARD" else _SUPPORTED
        if support and support.get(wanted) not in lasts:
            return Surpassed(
                f"EKS has upgraded cluster {seen.name} to {is_}, because support of {wanted} has ended",
                advice=f"Write {is_} into the spec",
            )
        return Invalid(
            f"cluster {seen.name} has version {is_}, which is never lowered to {wanted}",
            advice=f"Write {is_}, or {now.next} for an upgrade",
        )

    async def _read_support(self) -> Mapping[str, str]:
        """Return the support of each version that EKS knows; empty where that may not be read."""
        try:
            rows = await self._client.read_list(
                SERVICE, "describe_cluster_versions", "clusterVersions", "all", includeAll=True, maxResults=100
            )
        except CloudError:
            return {}
        return {str(row["clusterVersion"]): str(row.get("versionStatus", "")) for row in rows}

    async def explain_unknown_version(self, refused: Invalid, version: str) -> CloudError:
        """Return what a refused create means where EKS does not offer its version; else the refusal."""
        support = await self._read_support()
        offered = sorted(filter(None, (Version.parse(name) for name, said in support.items() if said in _SUPPORTED)))
        if not version or not offered or Version.parse(version) in offered:
            return refused
        return Invalid(
            f"EKS does not offer version {version} (any more)",
            advice=f"Write one of {', '.join(map(str, offered))}",
            code=refused.code,
            request_id=refused.request_id,
        ).about("version")

    async def send_next(self, name: str, changes: Request) -> None:
        """Send the first update that is due. Raises NotReady then: EKS takes minutes, and the others follow.

        What the cluster is now is read again: an update of what is there already is refused.
        """
        body = await eks.describe_cluster(self._client, name)
        is_ = decode(body).attributes if body else {}
        wanted = {**is_, **changes}
        due = [sort for sort in SORTS if any(wanted.get(each) != is_.get(each) for each in sort.attributes)]
        if not due:
            return
        sort = due[0]
        await self._say_why_failed(name)
        if "access_mode" in sort.attributes:
            wanted["access_mode"] = _next_mode(str(is_.get("access_mode", "")), wanted["access_mode"])
        cluster = {"clusterName": name} if sort.operation == "associate_encryption_config" else {"name": name}
        try:
            reply = await self._client.write(
                SERVICE,
                sort.operation,
                name,
                clientRequestToken=eks.one_time_token(),
                **cluster,
                **sort.parameters(wanted),
            )
        except NotReady as refused:
            raise eks.more_slowly(refused) from refused
        self._sent[name] = str((reply.get("update") or {}).get("id", ""))
        rest = [each for other in due[1:] for each in other.attributes if wanted.get(each) != is_.get(each)]
        now = ", ".join(each for each in sort.attributes if wanted.get(each) != is_.get(each))
        later = f"; {', '.join(rest)} follows" if rest else ""
        raise eks.is_being_updated(f"{now} of cluster {name}, which goes on serving{later}")

    async def _say_why_failed(self, name: str) -> None:
        """Raise Invalid where the last update of this process has failed, once: later it is tried again."""
        if not (ident := self._sent.pop(name, "")):
            return
        update = (await self._client.read(SERVICE, "describe_update", name, name=name, updateId=ident))["update"]
        if update.get("status") in ("Failed", "Cancelled"):
            said = (
                "; ".join(each.get("errorMessage", "") for each in update.get("errors", ())) or "EKS does not say why"
            )
            raise Invalid(f"an update of cluster {name} has failed: {said}", advice="It is tried again")


def _judge_access_mode(is_: str, wanted: str) -> CloudError | None:
    if is_ not in ACCESS_MODES or wanted not in ACCESS_MODES:
        return None
    if ACCESS_MODES.index(wanted) > ACCESS_MODES.index(is_):
        return None
    now, then = is_.lower(), wanted.lower()  # as the spec has them
    above = ACCESS_MODES[ACCESS_MODES.index(is_) :]
    return Invalid(
        f"the authentication mode {now} cannot be changed to {then}: EKS does not take access entries away again",
        advice=f"Write {' or '.join(above).lower()}",
    )


def _next_mode(is_: str, wanted: str) -> str:
    if is_ not in ACCESS_MODES or wanted not in ACCESS_MODES:
        return wanted
    return ACCESS_MODES[ACCESS_MODES.index(is_) + 1]
