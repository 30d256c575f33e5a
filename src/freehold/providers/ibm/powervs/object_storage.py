"""Object storage for Ignition: an instance and a bucket in it, behind upstream's feature gate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from freehold.api.feature_gates import FeatureGate, FeatureGates, format_option
from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.journal import Journal
from freehold.engine.resources import Request
from freehold.providers.ibm.powervs.keys import COS_BUCKET, COS_INSTANCE
from freehold.providers.ibm.powervs.names import PowerVSNames
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.spec_problems import SpecWarning

GATE = FeatureGate.BOOTSTRAP_FORMAT_IGNITION


def is_served(journal: Journal | None, gates: FeatureGates) -> bool:
    """Return whether ``spec.cosInstance`` is acted on.

    The gate decides whether object storage begins. What is on record goes on as if the gate were on: an operator
    that is upgraded, or started without the option, must not make surplus of what it created.
    """
    return GATE in gates or (journal is not None and COS_INSTANCE in journal.entries)


def gate_is_off(spec: IBMPowerVSClusterSpec, *, served: bool) -> Iterator[SpecWarning]:
    """Yield what a person should know while the gate is off."""
    if spec.cos_instance is None:
        return
    off = f"feature gate {GATE} is off; {format_option(GATE)} turns it on (freehold operator, serve, up, plan)"
    if served:
        message = f"it goes on, because it was begun before, although {off}"
        yield SpecWarning("spec.cosInstance", message, served=True)
    else:
        yield SpecWarning("spec.cosInstance", f"not acted on, because {off}")


def nodes(spec: IBMPowerVSClusterSpec, names: PowerVSNames, resource_group: str) -> Iterator[Node]:
    """Make the instance and its bucket; none where the spec does not ask for them."""
    cos = spec.cos_instance
    if cos is None:
        return
    name, bucket = cos.name or names.cos_instance, cos.bucket_name or names.cos_bucket
    region = cos.bucket_region or (spec.vpc and spec.vpc.region) or ""
    yield Node(
        COS_INSTANCE, name, partial(_instance, name, resource_group), Naming.EXPLICIT if cos.name else Naming.DEFAULT
    )
    yield Node(
        COS_BUCKET,
        bucket,
        partial(_bucket, bucket, region),
        Naming.EXPLICIT if cos.bucket_name else Naming.DEFAULT,
        frozenset({COS_INSTANCE}),
    )


def _instance(name: str, resource_group: str, known: ReadyNodes) -> Request:
    return {"name": name, "resource_group": resource_group}


def _bucket(name: str, region: str, known: ReadyNodes) -> Request:
    instance = known[COS_INSTANCE].attributes
    return {"instance": instance["id"], "instance_crn": instance["crn"], "name": name, "region": region}
