"""Stores of earlier versions, loaded into today's harnesses (tests/data/stores): each in a process that just began."""

from __future__ import annotations

import functools
import json
import lzma
import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from freehold.controllers.keyring import stored_form as keyring
from freehold.engine.keys import KeyRing
from freehold.kube.resources import key_of
from freehold_sim.aws.settings import Settings as AwsSettings
from freehold_sim.ibm.settings import Settings as IbmSettings
from freehold_sim.simulated import SimulatedCloud
from harness.aws_cluster import STORAGE, AwsHarness
from harness.metadata_on_both import Both
from harness.powervs import IGNITION, Harness, ReconcilerHarness

STORES = Path(__file__).parents[1] / "data" / "stores"
OVER = frozenset({"deleting", "deleted", "shutting-down", "terminated", "removed", "pending_reclamation"})
"""States of what the cloud still shows and nobody has any more."""
_NONCE = re.compile(r"-f(?:[a-z2-7]{12}|[a-z2-7]{7})(?=-|$)")

Row = dict[str, Any]


@functools.cache
def _content(store: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The clouds' settings, and each moment as text: what is loaded of it is changed."""
    content = json.loads(lzma.decompress((STORES / f"{store}.json.xz").read_bytes()))
    return content["settings"], {name: json.dumps(each) for name, each in content["moments"].items()}


def moments(stores: Collection[str], *words: str) -> list[tuple[str, str]]:
    """Each store with its moments, those that begin with one of the words."""
    return [(store, name) for store in stores for name in _content(store)[1] if name.startswith(words or "")]


def read(store: str, moment: str) -> dict[str, Any]:
    """The moment as it was written: time, objects, key ring, clouds, and the digests of what strangers had before."""
    found: dict[str, Any] = json.loads(_content(store)[1][moment])
    return found


def load_cluster(store: str, moment: str) -> ReconcilerHarness[Any]:
    """The operator with this object and this cloud."""
    found, settings = read(store, moment), _content(store)[0]
    harness: ReconcilerHarness[Any]
    if "ibm" in found["clouds"]:
        harness = Harness(settings=IbmSettings.from_dict(settings["ibm"]), gates=IGNITION)
    else:
        harness = AwsHarness(settings=AwsSettings.from_dict(settings["aws"]), gates=STORAGE)
    harness.clock.jump(found["time"] - harness.clock.now())
    (state,) = found["clouds"].values()
    harness.cloud.resume(state, [])
    (harness.object.raw,) = found["objects"]
    harness.rings.ring = _ring(found)
    return harness


def load_tags(moment: str) -> Both:
    """The metadata controller with these objects, its record of written tags, and both clouds."""
    found, settings = read("tags", moment), _content("tags")[0]
    lab = Both(IbmSettings.from_dict(settings["ibm"]))
    assert lab.ibm is not None
    lab.clock.jump(found["time"] - lab.clock.now())
    lab.account.clock.time = found["clocks"]["aws"]
    lab.ibm.clock.jump(found["clocks"]["ibm"] - lab.ibm.clock.now())
    lab.account.cloud.resume(found["clouds"]["aws"], [])
    lab.ibm.cloud.resume(found["clouds"]["ibm"], [])
    lab.objects.objects = {(obj["kind"], key_of(obj)): obj for obj in found["objects"]}
    lab.objects._version = max(int(obj["metadata"]["resourceVersion"]) for obj in found["objects"])
    lab.rings.ring = _ring(found)
    lab.restart()
    return lab


def _ring(found: Mapping[str, Any]) -> KeyRing:
    return keyring.loads(found["ring"], "the store of an earlier version").build_ring()


# -- what is in a cloud ------------------------------------------------------------------------------------------


def existing(cloud: SimulatedCloud, *, ours: bool) -> list[Row]:
    """The rows of what exists, ours or strangers'."""
    cloud.settle()
    rows = (row for row in cloud.resources() if row["kind"] != "reclamation" and row["state"] not in OVER)
    return [row for row in rows if (row["created_by"] == "api") is ours]


def digests(rows: list[Row]) -> dict[str, str]:
    """What tells whether anything of a resource differs, by id."""
    return {row["id"]: row["digest"] for row in rows}


def counted(rows: list[Row]) -> Counter[tuple[str, str]]:
    """How many there are of each kind and name; names without the nonce of the create."""
    return Counter((row["kind"], _NONCE.sub("", row["name"])) for row in rows)


def summary(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What a status says, without its wording and times: conditions, the rows of the resources, endpoint, ready."""
    status = obj.get("status") or {}
    conditions = {each["type"]: (each["status"], each["reason"]) for each in status.get("conditions", ())}
    rows = [(row["kind"], row["id"], row["state"]) for row in status.get("resources", ())]
    plain = {name: value for name, value in status.items() if isinstance(value, bool | int)}
    return {"conditions": conditions, "resources": sorted(rows), **plain}
