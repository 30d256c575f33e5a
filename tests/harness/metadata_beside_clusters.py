"""The metadata controller and the engine in one account: a cluster that stands, and metadata objects about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from freehold.kube.resources import Json, Key
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.metadata import NAMESPACE, Lab
from harness.powervs import Harness, ReconcilerHarness, example
from harness.standing import standing

FLEET = ("fleet", "a")


class Beside(Lab, ABC):
    """``cluster`` shares its account and clock with the metadata controller; its object is stored for both."""

    cluster: ReconcilerHarness[Any]
    kind: str

    def share(self) -> None:
        raw = self.cluster.object.raw
        self.objects.objects[raw["kind"], Key(raw["metadata"]["namespace"], raw["metadata"]["name"])] = raw

    def edit_cluster(self, tags: Mapping[str, str]) -> None:
        """``tags``: all that its spec asks for from now on."""
        self.cluster.object.patch({"spec": self.spec(tags)})

    @abstractmethod
    def spec(self, tags: Mapping[str, str]) -> Json: ...

    @abstractmethod
    async def ask(self, tags: Mapping[str, str], name: str = "metadata") -> None:
        """A metadata object about all that somebody put into the fleet."""

    @abstractmethod
    def classify(self, ident: str) -> None:
        """Put it into the fleet, so long ago that the index shows it."""

    @abstractmethod
    def tags_of(self, ident: str) -> set[str]:
        """Without marks of any sort: ``key=value``."""

    @abstractmethod
    def vpc_of_cluster(self) -> str: ...

    def cluster_writes(self, seconds: float = 1200.0) -> list[str]:
        """What the engine changes in so many seconds of its passes."""
        before = len(self.cluster.calls(mutating=True))
        self.cluster.for_a_while(seconds)
        return [call.operation for call in self.cluster.calls(mutating=True)[before:]]


class BesideAws(Beside):
    kind = "AWSCluster default/demo"

    def __init__(self, tags: Mapping[str, str]) -> None:
        super().__init__()
        self.cluster = standing(AwsHarness, aws_cluster(**self.spec(tags)))
        self.account.cloud, self.account.clock = self.cluster.cloud, self.cluster.clock
        self.restart()
        self.share()

    def spec(self, tags: Mapping[str, str]) -> Json:
        gone = (
            dict.fromkeys(self.cluster.object.raw["spec"].get("additionalTags", {})) if hasattr(self, "cluster") else {}
        )
        return {"additionalTags": {**gone, **tags}}

    async def ask(self, tags: Mapping[str, str], name: str = "metadata") -> None:
        await self.tags(f"{name}-tags", tags)
        await self.cloud(name, f"{name}-tags", classifiers=dict([FLEET]))

    def classify(self, ident: str) -> None:
        self.somebody_sets(ident, **dict([FLEET]))
        self.wait(60)

    def tags_of(self, ident: str) -> set[str]:
        found = self.tags_on(ident).items()
        return {f"{key}={value}" for key, value in found if "/" not in key and key not in ("Name", FLEET[0])}

    def vpc_of_cluster(self) -> str:
        return next(str(each["arn"]) for each in self.cluster.resources() if each["kind"] == "vpc")


class BesidePowerVS(Beside):
    kind = "IBMPowerVSCluster default/freehold-demo"

    def __init__(self, tags: Mapping[str, str], cluster: Harness | None = None) -> None:
        super().__init__()
        self.cluster = cluster or standing(Harness, example(**self.spec(tags)))
        account = self.with_ibm()
        account.cloud, account.clock = self.cluster.cloud, self.cluster.clock
        self.use_ibm(account)
        self.share()

    def spec(self, tags: Mapping[str, str]) -> Json:
        return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}

    async def ask(self, tags: Mapping[str, str], name: str = "metadata") -> None:
        metadata = {"name": f"{name}-tags", "namespace": NAMESPACE}
        await self.apply({"kind": "IBMMetadata", "metadata": metadata, "spec": {"resourcetags": dict(tags)}})
        reference = {"ibmref": {"name": f"{name}-tags"}}
        await self.cloud(name, "", cloudprovider=reference, classifiers=dict([FLEET]))

    def classify(self, ident: str) -> None:
        self.cluster.cloud.strangers.attach(ident, ":".join(FLEET))
        self.wait(60)

    def tags_of(self, ident: str) -> set[str]:
        found = self.cluster.cloud.world.tags_at(ident, self.cluster.clock.now())
        marks = ("powervs.cluster.x-k8s.io.", ":".join(FLEET))
        return {each.replace(":", "=", 1) for each in found if not each.startswith(marks)}

    def vpc_of_cluster(self) -> str:
        return next(str(each["crn"]) for each in self.cluster.resources() if each["kind"] == "vpc")


__all__ = ["Beside", "BesideAws", "BesidePowerVS", "example"]
