"""The metadata controller on a simulated AWS and a simulated IBM Cloud."""

from __future__ import annotations

from freehold_sim.ibm.settings import Settings as IbmSettings
from harness.metadata import Lab

IBM_TAGS = {"env": "test", "centre": "eng"}


class Both(Lab):
    """AWS and IBM Cloud."""

    def __init__(self, settings: IbmSettings | None = None) -> None:
        super().__init__()
        self.cloud_of_ibm = self.with_ibm(settings).cloud

    def on_ibm(self, count: int, *tags: str) -> list[str]:
        """Security groups with the classifier, made by somebody else."""
        strangers = self.cloud_of_ibm.strangers
        vpc = strangers.make("vpc", region="eu-de", name="theirs")["id"]
        made = [
            strangers.make("security-group", region="eu-de", vpc=vpc, name=f"group-{n}", tags=["fleet:a", *tags])
            for n in range(count)
        ]
        self.wait(60)
        return [str(each["crn"]) for each in made]

    def ibm_tags_on(self, crn: str) -> set[str]:
        return set(self.cloud_of_ibm.world.tags_at(crn, self.cloud_of_ibm.clock.now()))

    async def ibm_tags(self, name: str, tags: dict[str, str], **spec: object) -> None:
        metadata = {"name": name, "namespace": "metadata-controller"}
        await self.apply({"kind": "IBMMetadata", "metadata": metadata, "spec": {"resourcetags": tags, **spec}})

    async def ibm_only(self, **spec: object) -> None:
        await self.ibm_tags("ibmtags", IBM_TAGS, **spec)
        await self.cloud("metadata", "", cloudprovider={"ibmref": {"name": "ibmtags"}}, classifiers={"fleet": "a"})
