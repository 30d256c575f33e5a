"""Made-up reports of tags and lines of an audit log, for work on the page."""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]

_CALLS = ("ec2.CreateTags", "ec2.CreateVpc", "ec2.DeleteSubnet", "elbv2.CreateLoadBalancer", "ec2.RunInstances")
_OUTCOMES = ("done",) * 12 + ("changes",) * 3 + ("refused", "kept", "decided", "unknown")
_WHY_LEFT = "another CloudMetadata, payments/finance, asks for another value; which one holds is not decided by age"
_WHY_TRIMMED = "the cloud takes 50 tags on a resource, and it has 50"


def build_tags(now: float, strange: str) -> Json:
    """Build a report: one object as wanted, one with findings, one that was not looked at; names of anybody's."""
    empty: Json = {
        "conflicts": [],
        "trimmed": [],
        "unlisted": 0,
        "repaired": 0,
        "repairs": [],
        "open": [],
        "looked": now - 95,
    }
    counts = {"as_wanted": 812, "differs": 0, "drifted": 0, "left": 0, "not_known": 0}
    good = {**_name("default", "minimal"), **empty, "phase": "Ready", "total": 812, "counts": counts, "looked": now}
    bad = {
        **_name("payments", "cost-centres"), **empty, "phase": "Blocked", "total": 214,
        "counts": {"as_wanted": 171, "differs": 12, "drifted": 3, "left": 22, "not_known": 6},
        "conflicts": [_leave(index, "centre", "finance", "eng", _WHY_LEFT) for index in range(14)],
        "trimmed": [_leave(index, "data-class", None, "internal", _WHY_TRIMMED) for index in range(8)],
        "unlisted": 3, "repaired": 41,
        "repairs": [{**_tag(each, "env"), "was": "prod", "is": "test", "at": now - each * 700} for each in range(20)],
        "open": ["eu-de of account a1b2: tags could not be read: the key is refused (403)"], "looked": now,
    }  # fmt: skip
    unseen = {
        **_name("edge", "new"), **empty, "phase": "Progressing", "total": None, "counts": None, "looked": None,
        "open": ["this process has not looked at its tags yet: the status is all that is known, and counts follow"],
    }  # fmt: skip
    odd = {
        **_name("edge", strange), **empty, "phase": "Ready", "total": 3, "looked": now,
        "counts": {**counts, "as_wanted": 2, "left": 1},
        "conflicts": [{"resource": strange, "tag": strange, "is": strange, "wanted": "", "why": strange}],
    }  # fmt: skip
    return {"objects": [good, bad, unseen, *([odd] if strange else [])]}


def build_audit(now: float, before: str, strange: str, query: Json) -> Json:
    """Build a page of 100 lines of 450; older ones have older times."""
    begin = int(before or 0)
    lines = [_build_line(index, now, strange) for index in range(450)]
    text, key = str(query.get("text", "")).casefold(), query.get("object", "")
    found = [line for line in lines if text in str(line).casefold() and (not key or line["key"] == key)]
    page = found[begin : begin + 100]
    return {
        "available": True, "why": "", "lines": page, "searched": 450,
        "next": str(begin + 100) if begin + 100 < len(found) else None,
        "chain": {"verified": None if strange else True, "lines": 450, "unsealed": 0, "wrong": 0, "problems": []},
    }  # fmt: skip


def _build_line(index: int, now: float, strange: str) -> Json:
    rng = random.Random(index)
    outcome = rng.choice(_OUTCOMES)
    name = strange if strange and index % 9 == 0 else rng.choice(("web-a-17", "prod-frankfurt-140", "ci-x7-459"))
    namespace = rng.choice(("default", "payments"))
    changes = [
        {**_tag(index + each, "env"), "before": "prod", "after": "test"} for each in range(rng.choice((1, 2, 9)))
    ]
    return {
        "time": now - 60 - index * 900, "object": f"AWSCluster {namespace}/{name}",
        "key": f"AWSCluster/{namespace}/{name}", "outcome": outcome, "resource": f"subnet-{index:08x}",
        "call": "" if outcome in ("changes", "kept", "decided") else rng.choice(_CALLS),
        "by": "anna@example.com" if outcome == "decided" else "freehold",
        "reason": {"refused": "UnauthorizedOperation: You are not authorized to perform this operation.",
                   "kept": "its mark of the owner is gone: nobody can say that it is ours"}.get(outcome, ""),
        "changes": changes if outcome == "changes" else [], "more_changes": 0,
    }  # fmt: skip


def _name(namespace: str, name: str) -> Json:
    return {"key": f"CloudMetadata/{namespace}/{name}", "namespace": namespace, "name": name}


def _tag(index: int, key: str) -> Json:
    return {"resource": f"vpc/vpc-{index:017x}", "tag": key}


def _leave(index: int, key: str, found: str | None, wanted: str, why: str) -> Json:
    return {**_tag(index, key), "is": found, "wanted": wanted, "why": why}
