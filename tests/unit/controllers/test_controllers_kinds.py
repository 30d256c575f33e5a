"""Each served kind is complete: types, adapter, resource and credentials check."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

from freehold.controllers.health import Health, merge_health
from freehold.engine.clock import ManualClock
from freehold.engine.interface import Intervals
from freehold.providers import crds
from freehold.providers.access.accounts import NoCredentials
from freehold.providers.access.audit import NoAudit
from freehold.providers.access.limits import Limits
from freehold.providers.base import ConnectionContext
from freehold.providers.ibm.access import IbmAccess
from freehold.providers.ibm.provider import IBM
from freehold.providers.registry import METADATA, MIRRORS, PROVIDERS, REFERRED_TO, SERVED, TEMPLATES, provider_of
from harness.aws_served import Stored


def test_every_served_kind_has_types_and_belongs_to_one_provider() -> None:
    """A listed kind without an account would stop the operator at its start."""
    mirrors = [kind.served for kind in MIRRORS]
    assert {kind.name for kind in crds.SERVED} == {*SERVED, *mirrors, *REFERRED_TO, *TEMPLATES, *METADATA}
    assert [provider_of(kind) for kind in SERVED] == [each for each in PROVIDERS for _ in each.objects]


async def test_missing_credentials_are_reported_with_the_way_to_give_them() -> None:
    """On AWS the SDK looks for them when it is first asked, and its refusal says so."""
    with ExitStack() as stack:
        shared = ConnectionContext(
            Stored(), "freehold", ManualClock(), NoAudit(), Intervals(), Limits, lambda port: port, stack
        )
        connection = IbmAccess().connect(shared)
    for kind in IBM.objects:
        found = await connection.find_accounts(kind).bind({"kind": kind.served.kind, "metadata": {"name": "one"}})
        assert isinstance(found, NoCredentials) and "start it with " in found.message


def _health(**fields: object) -> Health:
    plain: dict[str, object] = {
        "ready": True, "followed": {}, "silent": 0.0, "busy": 0.0, "last_progress": 0.0, "queued": 0, "scheduled": 0,
        "restarts": 0,
    }  # fmt: skip
    return Health(**{**plain, **fields})  # type: ignore[arg-type]  # the fields are Health's own


def test_several_kinds_are_ready_when_each_is_and_as_late_as_the_latest() -> None:
    """A probe must not call an operator ready while one of its kinds has not been listed yet."""
    one, other = _health(silent=3.0, queued=1, last_progress=9.0), _health(ready=False, busy=4.0, queued=2, restarts=1)
    both = merge_health([one, other])
    assert (both.ready, both.silent, both.busy, both.last_progress) == (False, 3.0, 4.0, 0.0)
    assert (both.queued, both.restarts) == (3, 1)
    assert merge_health([one]) == one


def test_what_aws_needs_is_loaded_for_the_first_object_there() -> None:
    """An operator of PowerVS clusters starts as fast as before there was another cloud."""
    code = "import sys, freehold.controllers.app; print([m for m in sys.modules if m.endswith('.aws.cluster.adapter')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
