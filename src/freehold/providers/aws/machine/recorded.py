"""The instance of a machine by its journal and its spec. What to run is chosen once, and not a second time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.resources import NodeKey
from freehold.engine.secret_values import without_digests
from freehold.providers.aws.machine.bootstrap import BootstrapPlan, BootstrapSecret, name_secret
from freehold.providers.aws.machine.keys import BOOTSTRAP_SECRET_KIND, INSTANCE


class InstanceStanding(Enum):
    """Whose the instance is."""

    NONE = "none"  # there is none yet
    OPEN = "open"  # a create is on its way; the journal has its request
    OURS = "ours"  # it is on record as ours
    GONE = "gone"  # it was ours, and has gone without our request
    GIVEN = "given"  # the spec names it, and it is on no record of ours


@dataclass(frozen=True)
class RecordedInstance:
    """The instance. ``id`` is empty while it is not known. ``request`` is what stays of its create's request.

    ``is_vouched``: the operator itself wrote the id.
    """

    standing: InstanceStanding = InstanceStanding.NONE
    id: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    is_vouched: bool = True

    @property
    def is_chosen(self) -> bool:
        """Return whether image, subnet and the rest are chosen already, or are none of ours to choose."""
        return self.standing is not InstanceStanding.NONE


def instance_of(provider_id: str) -> str:
    """Return the id in ``aws:///<zone>/<id>``; empty where there is none."""
    return provider_id.rpartition("/")[2] if provider_id.startswith("aws:///") else ""


def read_recorded(provider_id: str, record: Mapping[NodeKey, Entry]) -> RecordedInstance:
    """Read the instance out of the journal's entries and the spec's ``providerID``, which we write there ourselves.

    Only a record says that it is ours: an id in the spec of which nothing is on record was given. Marks on it bring a
    lost record back before it counts as given (:mod:`freehold.engine.phases.recovery`, and ``_use_given`` of
    :mod:`freehold.engine.phases.create`).
    """
    entry, named = record.get(INSTANCE), instance_of(provider_id)
    if entry and entry.state.is_claimed:
        request = without_digests(entry.request or {})
        return RecordedInstance(InstanceStanding.OURS if entry.id else InstanceStanding.OPEN, entry.id, request)
    if entry and entry.gone:
        return RecordedInstance(InstanceStanding.GONE, entry.gone)
    if named and (entry is None or entry.state in (RecordState.VACANT, RecordState.GIVEN)):
        return RecordedInstance(InstanceStanding.GIVEN, named)
    return RecordedInstance()


def read_recorded_bootstrap(journal: Journal) -> BootstrapPlan:
    """Read which secrets were made for the instance on record; its own request says what its user data are."""
    secrets = (
        BootstrapSecret(key.logical, {"name": name_secret(journal.owner.uuid, key.logical)})
        for key, entry in sorted(journal.entries.items(), key=lambda item: str(item[0]))
        if key.kind == BOOTSTRAP_SECRET_KIND and entry.state.is_claimed
    )
    return BootstrapPlan(secrets=tuple(secrets))
