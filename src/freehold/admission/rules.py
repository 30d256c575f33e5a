"""Rules: what is wrong with an object, found by the functions with which the reconcilers refuse it. Pure.

Nobody is asked: an adapter without an account (:attr:`ObjectKind.adapt_unasked`) decides with no answer to any of its
questions, so that what it refuses is wrong in the object itself. What only a cloud knows is a condition later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.metadata_grant import MetadataGrantSpec
from freehold.api.parse import InvalidObject, SpecProblem, parse_spec
from freehold.api.served import CLOUD_METADATA, METADATA_GRANT, ServedName
from freehold.collection.policy import UnreadablePolicy
from freehold.collection.selector import Selector
from freehold.controllers.connections import collects_new_objects
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.ownership import Owner
from freehold.kube.stepping import run_blocking
from freehold.providers.base import ObjectKind
from freehold.providers.objects import identity
from freehold.providers.objects.adapter import Adapter, RefusedSpec
from freehold.providers.objects.gate import Proceed
from freehold.providers.registry import PROVIDERS, TAG_KINDS
from freehold.tags.policy.references import ProviderObject, Refused, references_of
from freehold.tags.policy.tag_request import refuse_cloud, refuse_tags

Json = Mapping[str, Any]
_UNKNOWN_PORT = 0
"""The port of the API server: its Cluster may name another one than the usual, so no port of the spec is taken yet."""


@dataclass(frozen=True)
class Findings:
    """Problems of an object, which refuse it, and warnings, which do not."""

    problems: tuple[SpecProblem, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING = Findings()
Judge = Callable[[Json], Findings]


class Rules:
    """The rules of all kinds, with the settings of the operator that would work on the objects."""

    def __init__(self, gates: FeatureGates = DEFAULT_GATES, gc_selector: Selector | None = None) -> None:
        self._judges: dict[tuple[str, str], Judge] = {
            (served.group, served.kind): judge for served, judge in _list_judges(gates, gc_selector)
        }

    def knows(self, group: str, kind: str) -> bool:
        """Return whether there are rules for a kind."""
        return (group, kind) in self._judges

    def judge(self, group: str, kind: str, raw: Json) -> Findings:
        """Judge an object of a known kind. Raises KeyError, and what is a defect."""
        return self._judges[group, kind](raw)


def _list_judges(gates: FeatureGates, gc_selector: Selector | None) -> Iterator[tuple[ServedName, Judge]]:
    for provider in PROVIDERS:
        for kind in provider.objects:
            yield kind.served, _build_judge(kind, gates, gc_selector)
    for tag_kind in TAG_KINDS.values():
        yield tag_kind.served, _judge_tags
    yield CLOUD_METADATA, _judge_cloud_metadata
    yield METADATA_GRANT, _judge_grant


# --- kinds that are reconciled ------------------------------------------------------------------


def _build_judge(kind: ObjectKind, gates: FeatureGates, gc_selector: Selector | None) -> Judge:
    if kind.adapt_unasked is None:
        return lambda raw: NOTHING
    adapter, collects = kind.adapt_unasked(gates, gc_selector), collects_new_objects(kind.served, gates)
    return lambda raw: _judge_with(adapter, raw, collects=collects)


def _judge_with(adapter: Adapter, raw: Json, *, collects: bool) -> Findings:
    """Decide as a pass would that reaches nobody."""
    journal = _read_journal(raw, adapter.served, collects=collects)
    proceed = Proceed(str(raw["metadata"]["name"]), _UNKNOWN_PORT)
    desired = run_blocking(adapter.find_desired(raw, proceed, journal))
    problems = desired.problems if isinstance(desired, RefusedSpec) else ()
    return Findings((*problems, *_judge_collection(adapter, raw, journal)), tuple(map(str, desired.notes)))


def _read_journal(raw: Json, served: ServedName, *, collects: bool) -> Journal:
    """Read the record. An object without a readable one gets that of a new identity."""
    try:
        found = identity.read_record(raw)
    except CorruptJournal:
        found = None
    metadata = raw["metadata"]
    owner = Owner(str(metadata.get("uid") or ""), served.kind, str(metadata.get("namespace") or ""), metadata["name"])
    return found or Journal(owner, collects=collects, defaults=served.defaults)


def _judge_collection(adapter: Adapter, raw: Json, journal: Journal) -> Iterator[SpecProblem]:
    """Judge the annotations that say what is collected with the object."""
    wanted = adapter.find_collection(raw, journal)
    if wanted is not None and isinstance(wanted.policy, UnreadablePolicy):
        yield SpecProblem("metadata.annotations", wanted.policy.message)


# --- the metadata controller's ------------------------------------------------------------------


def _judge_tags(raw: Json) -> Findings:
    return _build_findings(refuse_tags(ProviderObject(str(raw["kind"]), raw)))


def _judge_cloud_metadata(raw: Json) -> Findings:
    if refused := refuse_cloud(raw):
        return _build_findings(refused)
    found = references_of(raw)
    return Findings(notes=(found.message,)) if isinstance(found, Refused) else NOTHING


def _build_findings(refused: Refused | None) -> Findings:
    return NOTHING if refused is None else Findings((SpecProblem("spec", refused.message),))


def _judge_grant(raw: Json) -> Findings:
    try:
        parse_spec(MetadataGrantSpec, raw)
    except InvalidObject as problem:
        return Findings(problem.problems)
    return NOTHING


# --- when an object is not judged ---------------------------------------------------------------


def is_left_alone(raw: Json) -> bool:
    """Return whether no pass works on an object: it is being deleted, or something else manages it."""
    manager = _annotations(raw).get(names.MANAGED_BY_ANNOTATION, names.MANAGED_BY_FREEHOLD)
    return "deletionTimestamp" in raw["metadata"] or manager != names.MANAGED_BY_FREEHOLD


def is_only_warned(raw: Json) -> bool:
    """Return whether what is wrong with a new object is no reason to refuse it.

    It is paused, as one that was recovered, or it has a record: it comes back from a backup or was moved here, and
    what belongs to it would have no object otherwise.
    """
    return bool({names.PAUSED_ANNOTATION, names.JOURNAL_ANNOTATION} & _annotations(raw).keys())


def _annotations(raw: Json) -> Mapping[str, str]:
    return raw["metadata"].get("annotations") or {}
