"""Each served kind is complete: types, adapter, resource and credentials check."""

from __future__ import annotations

import subprocess
import sys

from freehold.api import crd, served
from freehold.controllers.adapters import ADAPTERS, Clouds
from freehold.controllers.app import together
from freehold.controllers.controller import Health
from freehold.providers.access.accounts import NoCredentials
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import SERVED_RESOURCES


def test_every_served_kind_has_types_an_adapter_and_a_resource() -> None:
    """A listed kind without an adapter would stop the operator at its start."""
    assert [kind.name for kind in crd.SERVED] == [*served.SERVED, *served.REFERRED_TO, *served.METADATA]
    assert ADAPTERS.keys() == {kind.kind for kind in served.SERVED}
    assert tuple(map(resource_of, served.SERVED)) == SERVED_RESOURCES


async def test_missing_credentials_of_a_kind_are_reported_with_the_way_to_give_them() -> None:
    for kind, accounts_of in ADAPTERS.items():
        found = await accounts_of(Clouds()).binding({"kind": kind, "metadata": {"name": "one"}})
        assert isinstance(found, NoCredentials), kind
        assert "start it with " in found.message


def _health(**fields: object) -> Health:
    plain: dict[str, object] = {
        "ready": True, "followed": {}, "silent": 0.0, "busy": 0.0, "last_progress": 0.0, "queued": 0, "scheduled": 0,
        "restarts": 0,
    }  # fmt: skip
    return Health(**{**plain, **fields})  # type: ignore[arg-type]  # the fields are Health's own


def test_several_kinds_are_ready_when_each_is_and_as_late_as_the_latest() -> None:
    """A probe must not call an operator ready while one of its kinds has not been listed yet."""
    one, other = _health(silent=3.0, queued=1, last_progress=9.0), _health(ready=False, busy=4.0, queued=2, restarts=1)
    both = together([one, other])
    assert (both.ready, both.silent, both.busy, both.last_progress) == (False, 3.0, 4.0, 0.0)
    assert (both.queued, both.restarts) == (3, 1)
    assert together([one]) == one


def test_what_aws_needs_is_loaded_for_the_first_object_there() -> None:
    """An operator of PowerVS clusters starts as fast as before there was another cloud."""
    code = "import sys, freehold.controllers.app; print([m for m in sys.modules if 'aws_cluster' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
