"""Who acts in a simulated AWS account beside us: another user of it, or a process with an access key of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import boto3
import requests
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

REGION = "us-east-1"
Refused = ValueError
"""What an actor raises when the cloud refuses a call."""

_IDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "ec2.CreateSecurityGroup": lambda reply: reply["GroupId"],
    "ec2.AuthorizeSecurityGroupIngress": lambda reply: reply["SecurityGroupRules"][0]["SecurityGroupRuleId"],
    "ec2.CreateNetworkInterface": lambda reply: reply["NetworkInterface"]["NetworkInterfaceId"],
    "ec2.CreateVolume": lambda reply: reply["VolumeId"],
    "ec2.RunInstances": lambda reply: reply["Instances"][0]["InstanceId"],
    "elbv2.CreateLoadBalancer": lambda reply: reply["LoadBalancers"][0]["LoadBalancerArn"],
    "elbv2.CreateTargetGroup": lambda reply: reply["TargetGroups"][0]["TargetGroupArn"],
    "elbv2.CreateListener": lambda reply: reply["Listeners"][0]["ListenerArn"],
}
"""The id of what was made, in the reply to its create. A classic load balancer has the name that it is given."""


class Actor(Protocol):
    """Calls operations of AWS by botocore's names. Raises Refused."""

    def call(self, service: str, operation: str, **params: Any) -> dict[str, Any]: ...

    def make(self, service: str, operation: str, **params: Any) -> str:
        """Create something; its id, ARN or name, as the simulator lists it."""
        ...


class OtherUser:
    """Another user of an account, by the simulator's ``strangers``; what it makes is ready at once.

    ``act``: ``SimulatedAWS.strangers.act``, or the same over HTTP (``over_http``).
    """

    def __init__(self, act: Callable[[str, dict[str, Any]], Any], account: str = "", region: str = REGION) -> None:
        self.act = act
        self.region = region
        self._where = {"account": account, "region": region}

    def call(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        reply: dict[str, Any] = self.act("call", self._body(service, operation, params))
        return reply

    def make(self, service: str, operation: str, **params: Any) -> str:
        """Wait for nothing: what was made is in its final state."""
        return str(self.act("create", self._body(service, operation, params))["id"])

    def _body(self, service: str, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"service": service, "operation": operation, "params": params, **self._where}

    def tag(self, ident: str, **tags: str) -> None:
        """Tags that nobody may give, such as those of AWS's own services, too."""
        self.act("tag", {"id": ident, "tags": tags})


def over_http(simulator: str) -> Callable[[str, dict[str, Any]], Any]:
    """Return ``act`` of OtherUser for a simulator that runs at an address."""

    def act(verb: str, body: dict[str, Any]) -> Any:
        answer = requests.post(f"{simulator}/_sim/strangers/{verb}?cloud=aws", json=body, timeout=60)
        if answer.status_code != 200:
            raise Refused(answer.text)
        return answer.json()

    return act


class KeyHolder:
    """A process with an access key, as a cluster's own controllers are: its calls are in the simulator's log.

    ``endpoint``: where the simulated AWS is served, ``http://127.0.0.1:PORT/aws``; None for that of moto.
    """

    def __init__(self, endpoint: str | None, key: str) -> None:
        self._session = boto3.Session(key, "any secret", region_name=REGION)
        self._endpoint = endpoint
        self._clients: dict[str, Any] = {}

    def call(self, service: str, operation: str, **params: Any) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = getattr(self._client(service), xform_name(operation))(**params)
        except ClientError as refused:
            raise Refused(str(refused)) from refused
        return reply

    def make(self, service: str, operation: str, **params: Any) -> str:
        reply = self.call(service, operation, **params)
        if (service, operation) == ("elb", "CreateLoadBalancer"):
            return str(params["LoadBalancerName"])
        return _IDS[f"{service}.{operation}"](reply)

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            config = Config(retries={"mode": "standard", "total_max_attempts": 3})
            self._clients[service] = self._session.client(service, endpoint_url=self._endpoint, config=config)
        return self._clients[service]


def left(resources: Iterable[Mapping[str, Any]], idents: Mapping[str, str]) -> list[str]:
    """Return the names of what is still there. ``resources``: those of SimulatedAWS, or of ``/_sim/resources``."""
    there = {str(row["id"]) for row in resources}
    return sorted(name for name, ident in idents.items() if ident in there)
