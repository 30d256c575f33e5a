"""What the workloads of an EKS cluster left has the name of the EKS cluster; both objects of a cluster may opt out."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES
from freehold.collection.policy import Collect, SkipCollection
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.providers.aws.control_plane.collection import decide_policy, request_collection
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.objects.around import NOTHING_AROUND, Around

OWNER = Owner("0c0ffee0-0000-4000-8000-000000000000", "AWSManagedControlPlane", "team", "prod-control-plane")
ARN = "arn:aws:eks:eu-central-1:123456789012:cluster/recorded"


def control_plane(**spec: Any) -> dict[str, Any]:
    metadata = {"name": OWNER.name, "namespace": OWNER.namespace, "labels": {names.CLUSTER_NAME_LABEL: "prod"}}
    return {"kind": OWNER.kind, "metadata": metadata, "spec": spec}


def infrastructure(word: str) -> Around:
    annotations = {names.EXTERNAL_RESOURCE_GC_ANNOTATION: word}
    return Around(
        infrastructure={"kind": "AWSManagedCluster", "metadata": {"name": "prod", "annotations": annotations}}
    )


@pytest.mark.parametrize(
    ("spec", "entries", "name"),
    [
        ({}, {}, "team_prod-control-plane"),
        ({"eksClusterName": "chosen"}, {}, "chosen"),
        ({"eksClusterName": "changed"}, {CLUSTER: Entry(RecordState.OWNED, id=ARN)}, "recorded"),
        ({"eksClusterName": "changed"}, {CLUSTER: Entry(RecordState.VACANT, gone=ARN)}, "recorded"),
    ],
)
def test_leftovers_are_looked_for_under_the_name_of_the_eks_cluster(
    spec: dict[str, Any], entries: dict[Any, Entry], name: str
) -> None:
    """Not that of the Cluster: the cloud controllers are told the name that EKS has. It is frozen once there is one."""
    found = request_collection(control_plane(**spec), Journal(OWNER, entries), NOTHING_AROUND, DEFAULT_GATES, None)
    assert found.cluster == name


def test_the_record_says_whether_it_is_collected_and_its_managed_cluster_may_opt_out() -> None:
    raw, journal = control_plane(), Journal(OWNER, {}, collects=True)
    assert isinstance(decide_policy(raw, journal, NOTHING_AROUND, DEFAULT_GATES, None), Collect)
    assert isinstance(decide_policy(raw, journal, infrastructure("false"), DEFAULT_GATES, None), SkipCollection)
    assert isinstance(decide_policy(raw, None, NOTHING_AROUND, DEFAULT_GATES, None), SkipCollection)
    assert isinstance(decide_policy(raw, None, infrastructure("true"), DEFAULT_GATES, None), Collect)
    assert isinstance(decide_policy(raw, journal, infrastructure("true"), frozenset(), None), SkipCollection)
