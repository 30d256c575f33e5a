"""The bad input of the whole tree, as objects: what the tests of reconcilers feed them, for the rules of admission."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.facts import PowerVSFacts
from freehold.providers.objects.adapter import RefusedSpec
from freehold.providers.objects.cloud_answers import Answer
from harness import aws_control_plane, aws_machine, aws_specs
from harness.schemas import powervs_spec

Json = dict[str, Any]
_UNIT = Path(__file__).parent.parent / "unit"


@dataclass(frozen=True)
class BadInput:
    """An object, and what its reconciler says of it with the answers of the cloud that its test gives."""

    name: str
    raw: Json
    problems: tuple[str, ...]


def read_bad_input() -> Iterator[BadInput]:
    """Read all tables."""
    yield from _read_clusters()
    yield from _read_machines()
    yield from _read_control_planes()
    yield from _read_powervs()


def _load(path: str) -> ModuleType:
    """Load a module of tests for its tables, under a name of its own."""
    name = f"tables_of_{Path(path).stem}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, _UNIT / path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _say(desired: object) -> tuple[str, ...]:
    return tuple(map(str, desired.problems)) if isinstance(desired, RefusedSpec) else ()


def _read_clusters() -> Iterator[BadInput]:
    tables = _load("aws_cluster/test_aws_cluster_input.py")
    rows: Mapping[str, tuple[Any, ...]] = {
        **{name: (spec, aws_specs.facts()) for name, (spec, *_) in tables.KNOWN_AT_APPLY.items()},
        **{name: (spec, known) for name, (spec, known, _) in tables.KNOWN_LATER.items()},
    }
    for name, (spec, known) in rows.items():
        if known.recorded == aws_specs.facts().recorded:  # of the others the object has a record, which is not in it
            raw = aws_specs.cluster({**tables.LEAST, **spec})
            asked = replace(known, namesakes=known.namesakes or Answer(()))  # of an object without a record it is asked
            found = aws_specs.decide(aws_specs.NAMES, raw, asked, storage=True)
            yield BadInput(f"AWSCluster: {name}", raw, _say(found))


def _read_machines() -> Iterator[BadInput]:
    for name, (spec, owner, known, *_) in _load("aws_machine/test_aws_machine_input.py").BAD.items():
        raw = aws_machine.machine(**spec)
        found = aws_machine.desired_of(raw, known, aws_machine.owner_machine(**owner))
        yield BadInput(f"AWSMachine: {name}", raw, _say(found))


def _read_control_planes() -> Iterator[BadInput]:
    tables = _load("aws_control_plane/test_aws_control_plane_input.py")
    at_apply = {name: (spec, None) for name, (spec, *_) in tables.AT_APPLY.items()}
    here = {name: (spec, facts) for name, (spec, facts, *_) in tables.HERE.items()}
    for name, (spec, facts) in {**at_apply, **here}.items():
        raw = aws_control_plane.control_plane(**spec)
        found = aws_control_plane.desired_of(raw, *([facts] if facts else []))
        yield BadInput(f"AWSManagedControlPlane: {name}", raw, _say(found))


def _read_powervs() -> Iterator[BadInput]:
    tables, rules = _load("ibm_powervs/test_powervs_input.py"), _load("api/test_api_powervs_rules.py")
    created = {name: (more, known) for name, (more, known, _) in tables.BAD.items()}
    created |= {f"schema: {name}": (spec, tables.FACTS) for name, (spec, *_) in rules.REFUSED.items()}
    rows: dict[str, tuple[Json, PowerVSFacts, Json]] = {
        **{name: ({**tables.LEAST, **spec}, known, tables.CREATE) for name, (spec, known) in created.items()},
        **{name: (spec, PowerVSFacts(), {}) for name, (spec, _) in tables.MISSING.items()},
        "an annotation that is no boolean": (tables.LEAST, tables.FACTS, {tables.ANNOTATION: "maybe"}),
    }
    for name, (spec, known, said) in rows.items():
        raw = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "IBMPowerVSCluster",
            "metadata": {"name": "c1", "namespace": "team", "annotations": said},
            "spec": spec,
        }
        found = build_desired("c1", said, powervs_spec({"spec": spec}), known)
        yield BadInput(f"IBMPowerVSCluster: {name}", raw, _say(found))
