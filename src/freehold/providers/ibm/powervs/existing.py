"""The way without the create-infra annotation: the workspace and the network must be there already.

Nothing is created, so no node may ever reach a create: each is ``given``. What the spec gives by name is
looked up first (``lookups`` says what to ask the kinds' drivers); the answers come back in
``PowerVSFacts.existing``, and the id that was found is then as good as one in the spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from freehold.engine.graph import Naming, Node
from freehold.engine.resources import NodeKey, Observed, Want
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs import spec_checks
from freehold.providers.ibm.powervs.facts import PowerVSFacts
from freehold.providers.ibm.powervs.keys import NETWORK, WORKSPACE, constant, no_request
from freehold.providers.ibm.powervs.names import dhcp_of, network_of
from freehold.providers.ibm.powervs.network import workspace_id
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer, NotThere, SeveralFound
from freehold.providers.objects.spec_problems import SpecProblem


@dataclass(frozen=True)
class ById:
    """A question that ``Driver.observe`` answers; a ``Want`` is one for ``Driver.find``."""

    key: NodeKey
    id: str


IdLookup = Want | ById


def lookups(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[IdLookup, ...]:
    """Return what to look for next: the workspace, then the network in it. Empty when done.

    A workspace that is given by id is asked for its zone, where the spec does not say it and a network has to be
    found by name. A ``Want`` without zone means any zone.
    """
    found: list[IdLookup] = []
    if given := workspace_id(spec):
        if not spec.zone and _network_name(spec):
            found.append(ById(WORKSPACE, given))
    elif spec.service_instance and (name := spec.service_instance.name):
        found.append(Want(WORKSPACE, name, {"name": name, "zone": spec.zone or "", "resource_group": ""}))
    guid, zone = _workspace(spec, facts)
    if guid and zone and (name := _network_name(spec)):
        network = network_of(dhcp_of(name))
        request = {"workspace": guid, "zone": zone, "name": dhcp_of(name), "network": network}
        found.append(Want(NETWORK, name, {**request, "search": list(dict.fromkeys([name, network]))}))
    return tuple(lookup for lookup in found if lookup.key not in facts.existing)


def _network_name(spec: IBMPowerVSClusterSpec) -> str:
    """Return the name to look for; an id goes before it."""
    return (spec.network and not spec.network.id and spec.network.name) or ""


def _workspace(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[str, str]:
    """Return id and zone; empty while unknown."""
    answer = facts.existing.get(WORKSPACE)
    if isinstance(answer, Answer):
        return answer.value.id, str(answer.value.attributes.get("zone", spec.zone or ""))
    return workspace_id(spec), spec.zone or ""


def check(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[SpecProblem, ...]:
    """Find what must be changed, or made, by a person."""
    hint = f"or set annotation {ibm_names.CREATE_INFRA_ANNOTATION}: 'true' to have it created"
    problems = [*spec_checks.one_workspace(spec), *spec_checks.protected_tags(spec)]
    if not workspace_id(spec) and not (spec.service_instance and spec.service_instance.name):
        problems.append(
            SpecProblem("spec.serviceInstance", f"it is missing; give the id or the name of a workspace, {hint}")
        )
    if not (spec.network and (spec.network.id or spec.network.name)):
        problems.append(SpecProblem("spec.network", f"it is missing; give the id or the name of a network, {hint}"))
    if isinstance(facts.existing.get(WORKSPACE), NotThere):
        name = workspace_id(spec) or (spec.service_instance and spec.service_instance.name)
        problems.append(
            SpecProblem(
                _field(spec, WORKSPACE), f"there is no workspace {name!r}; correct it, create the workspace, {hint}"
            )
        )
    if isinstance(facts.existing.get(NETWORK), NotThere):
        name = _network_name(spec)
        problems.append(
            SpecProblem(_field(spec, NETWORK), f"there is no network {name!r}; correct it, create the network, {hint}")
        )
    return tuple(problems)


def ambiguous(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[SpecProblem, ...]:
    """Find names that more than one resource has: the manifest is right, and a person says which is meant."""
    return tuple(
        SpecProblem(
            _field(spec, key),
            f"{len(answer.ids)} resources have this name ({', '.join(answer.ids)}); give the id instead",
        )
        for key, answer in facts.existing.items()
        if isinstance(answer, SeveralFound)
    )


def _field(spec: IBMPowerVSClusterSpec, key: NodeKey) -> str:
    """Return where the manifest names it."""
    if key == NETWORK:
        return "spec.network.name"
    if spec.service_instance and (spec.service_instance.id or not spec.service_instance_id):
        return "spec.serviceInstance." + ("id" if spec.service_instance.id else "name")
    return "spec.serviceInstanceID"


def missing(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> Mapping[str, NoAnswer]:
    """Return what could not be asked, or has not been yet, by field."""
    unanswered = {key: answer for key, answer in facts.existing.items() if isinstance(answer, NoAnswer)}
    asked = {lookup.key: NOT_ASKED for lookup in lookups(spec, facts)}
    return {_field(spec, key): answer for key, answer in {**asked, **unanswered}.items()}


def nodes(spec: IBMPowerVSClusterSpec, facts: PowerVSFacts) -> tuple[Node, ...]:
    """Make workspace and network, both given; call it when ``check`` and ``missing`` find nothing."""
    guid, _ = _workspace(spec, facts)
    instance, network = spec.service_instance, spec.network
    inside = f"{guid}/network/{network.id}" if network and network.id else _get_found(facts, NETWORK).id
    return (
        Node(
            WORKSPACE,
            (instance and instance.name) or guid,
            no_request,
            Naming.EXPLICIT,
            given=partial(constant, guid),
            field="spec.serviceInstance",
        ),
        Node(
            NETWORK,
            (network and (network.name or network.id)) or inside,
            no_request,
            Naming.EXPLICIT,
            frozenset({WORKSPACE}),
            given=partial(constant, inside),
            field="spec.network",
            spec_noun="network",
        ),
    )


def _get_found(facts: PowerVSFacts, key: NodeKey) -> Observed:
    answer = facts.existing[key]
    if not isinstance(answer, Answer):
        raise ValueError(f"{key} has not been found")
    return answer.value
