"""Others in an account with a control plane of EKS: their clusters, roles and providers, and what they do to ours."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from harness.aws_control_plane import EKS_NAME, NAME
from harness.cloud_actors import OtherUser
from harness.cloud_controllers import CloudProvider, Ground
from lab.aws_neighbours import NAMES, THEIR_ROLE, Neighbours, Record, existing, state_of
from lab.aws_requests import Place

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": each}}
            for each in ("eks.amazonaws.com", "ec2.amazonaws.com", "eks-fargate-pods.amazonaws.com")
        ],
    }
)
ACCOUNT = "111122223333"
ADDON = "vpc-cni"
ENTRANT = f"arn:aws:iam::{ACCOUNT}:role/controllers.cluster-api-provider-aws.sigs.k8s.io"
"""A role that the spec lets in."""
THEIRS = f"arn:aws:iam::{ACCOUNT}:role/{THEIR_ROLE}"
THEIR_CLUSTER = "their-cluster"
EKS_KINDS = ("eks-cluster", "eks-addon", "eks-access-entry", "iam-role", "oidc-provider")


class EksNeighbours(Neighbours):
    """They have a cluster in the network in which ours shall be."""

    names: Mapping[str, str] = {
        **NAMES,
        "security-group": f"{NAME}-node-eks-additional",
        "eks-cluster": EKS_NAME,
        "eks-addon": ADDON,
        "eks-access-entry": ENTRANT,
        "iam-role": f"{NAME}-iam-service-role",
    }

    def _settle_in(self) -> None:
        super()._settle_in()
        place = {"VpcId": self.olds["vpc"], "CidrBlock": "10.9.16.0/20", "AvailabilityZone": "us-east-1b"}
        self.olds["second-subnet"] = self._call("ec2", "CreateSubnet", **place)["Subnet"]["SubnetId"]
        self._made("iam-role", THEIR_ROLE, self.place)
        self.olds["iam-role"] = THEIR_ROLE
        self.olds["eks-cluster"] = self._made("eks-cluster", THEIR_CLUSTER, self.place)["id"]
        self._made("eks-addon", "coredns", self.place, within=THEIR_CLUSTER)
        self._made("eks-access-entry", ENTRANT, self.place, within=THEIR_CLUSTER)
        self.olds |= {"eks-addon": f"{THEIR_CLUSTER}/coredns", "eks-access-entry": f"{THEIR_CLUSTER}/{ENTRANT}"}
        self.olds["oidc-provider"] = self._made("oidc-provider", "https://example.com/theirs", self.place)["id"]
        of_a_service = {f"kubernetes.io/cluster/{THEIR_CLUSTER}": "owned", "kubernetes.io/service-name": "shop/web"}
        self._cloud.strangers.tag(self.olds["classic-load-balancer"], of_a_service)
        self._harness.clock.advance(3600.0)
        self.note(*self.due)

    def tampered(self) -> list[str]:
        """Their addons and access entries in a cluster of ours go with it."""
        if EKS_NAME not in {each["id"] for each in existing(self._harness)}:
            self.due = {ident: photo for ident, photo in self.due.items() if not ident.startswith(f"{EKS_NAME}/")}
        return super().tampered()

    def issuer(self) -> str:
        """That of our cluster, once it has one."""
        found = self.ours("eks-cluster")
        return str(found["view"].get("identity", {}).get("oidc", {}).get("issuer", "")) if found else ""

    def fake(self, kind: str) -> None:
        """Make what our cluster is about to need: a provider of its issuer."""
        if issuer := self.issuer():
            self._try("oidc-provider", issuer, self.place, {})

    def reconfigure(self, kind: str) -> None:
        """Somebody turns a log of our cluster on."""
        logging = {"clusterLogging": [{"types": ["audit"], "enabled": True}]}
        with contextlib.suppress(ValueError):
            self._call("eks", "UpdateClusterConfig", name=EKS_NAME, logging=logging)

    def upgrade(self, kind: str) -> None:
        """EKS updates our cluster by itself."""
        found = self.ours("eks-cluster")
        if found is not None and found["view"]["version"] == "1.33":
            with contextlib.suppress(ValueError):
                self._cloud.strangers.upgrade(found["arn"])

    def rival(self, kind: str) -> None:
        """Their cluster takes our name, unless ours has it, and has a load balancer of a Service."""
        self.namesake(kind)
        if self.ours(kind) is None:
            ground = Ground(EKS_NAME, self.olds["vpc"], [self.olds["subnet"]])
            CloudProvider(OtherUser(self._cloud.strangers.act), ground).classic()
            self.note()

    def succeed(self, kind: str) -> None:
        """Somebody deletes our cluster and makes another one of its name, which has its ARN."""
        if (ours := self.ours(kind)) is not None and state_of(ours["view"]) == "active":
            self._cloud.strangers.delete(ours["id"])
            self._try(kind, EKS_NAME, self.place, {})

    def remove(self, ident: str) -> None:
        """A cluster goes with the load balancers of its Services. The network that a message names stays."""
        if ident == self.olds["vpc"]:
            return
        if self._cloud.strangers.find(ident)["kind"] == "eks-cluster":
            theirs = [each for each in existing(self._harness) if each["by"] == "stranger"]
            for record in theirs:
                made = record["kind"] in ("classic-balancer", "security-group")
                if made and f"kubernetes.io/cluster/{EKS_NAME}" in record["tags"]:
                    self._cloud.strangers.delete(record["id"])
        super().remove(ident)

    def attach(self, kind: str) -> None:
        """Somebody attaches a policy of theirs to our role."""
        if (role := self.ours("iam-role")) is not None:
            policy = "arn:aws:iam::aws:policy/AmazonEKSVPCResourceController"
            self._call("iam", "AttachRolePolicy", RoleName=role["id"], PolicyArn=policy)

    def move_in(self, kind: str) -> None:
        if kind not in ("eks-node-group", "eks-fargate-profile"):
            super().move_in(kind)
        elif (host := self.ours("eks-cluster")) is not None and state_of(host["view"]) != "failed":
            self._try(kind, "guest", self.place, {})

    def _make(self, kind: str, tags: Mapping[str, str]) -> None:
        if kind == "oidc-provider":
            self.fake(kind)
        else:
            super()._make(kind, tags)

    def _made(
        self, kind: str, name: str, place: Place, tags: Mapping[str, str] | None = None, within: str = EKS_NAME
    ) -> Record:
        if kind not in (*EKS_KINDS, "eks-node-group", "eks-fargate-profile"):
            return super()._made(kind, name, place, tags)
        service, operation, params = self._request(kind, name, within, dict(tags or {}))
        return self._cloud.strangers.create(service, operation, params)

    def _request(self, kind: str, name: str, cluster: str, tags: dict[str, str]) -> tuple[str, str, dict[str, Any]]:
        subnets = [self.olds["subnet"], self.olds["second-subnet"]]
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        tagged = {"tags": tags} if tags else {}
        named = {"clusterName": cluster, **tagged}
        role = {"RoleName": name.rpartition("/")[2], "AssumeRolePolicyDocument": TRUST, "Tags": pairs}
        selectors = [{"namespace": "theirs"}]
        table: dict[str, tuple[str, str, dict[str, Any]]] = {
            "eks-cluster": (
                "eks",
                "CreateCluster",
                {
                    "name": name,
                    "roleArn": THEIRS,
                    "resourcesVpcConfig": {"subnetIds": subnets},
                    "accessConfig": {"authenticationMode": "API"},
                    **tagged,
                },
            ),
            "eks-addon": ("eks", "CreateAddon", {"addonName": name, "resolveConflicts": "OVERWRITE", **named}),
            "eks-access-entry": ("eks", "CreateAccessEntry", {"principalArn": name, **named}),
            "eks-node-group": (
                "eks",
                "CreateNodegroup",
                {"nodegroupName": name, "nodeRole": THEIRS, "subnets": subnets, **named},
            ),
            "eks-fargate-profile": (
                "eks",
                "CreateFargateProfile",
                {"fargateProfileName": name, "podExecutionRoleArn": THEIRS, "selectors": selectors, **named},
            ),
            "iam-role": ("iam", "CreateRole", role),
            "oidc-provider": ("iam", "CreateOpenIDConnectProvider", {"Url": name, "Tags": pairs}),
        }
        return table[kind]
