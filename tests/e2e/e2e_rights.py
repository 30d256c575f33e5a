"""The rights that the shipped Roles give to an operator, and a proxy that gives it no others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from e2e_servers import write_kubeconfig

from freehold.controllers.keyring.secret import NAME as RING
from freehold.install.names import OPERATOR
from freehold.install.objects import build_rights
from freehold.install.options import NAMESPACE, InstallOptions
from freehold.tags.ledger_store import shard_names
from harness.judging_proxy import JudgingProxy
from harness.rbac import Right, collect_rights


def shipped_rights(options: InstallOptions, ring: str = RING) -> tuple[Right, ...]:
    """Return what an installation gives to its operator, as if its key ring had the name ``ring``."""
    found = collect_rights(build_rights(options), OPERATOR, options.namespace)
    if ring == RING:
        return found
    renamed = {RING: ring, **dict(zip(shard_names(), shard_names(f"{ring}-tags"), strict=True))}
    return tuple(replace(each, names=tuple(renamed.get(name, name) for name in each.names)) for each in found)


@contextlib.contextmanager
def judged(upstream: str, rights: tuple[Right, ...], folder: Path) -> Iterator[tuple[JudgingProxy, str]]:
    """A proxy with these rights in front of a server, and a kubeconfig for it."""
    user = f"system:serviceaccount:{NAMESPACE}:{OPERATOR}"
    with JudgingProxy(upstream, rights, user).running() as proxy:
        yield proxy, write_kubeconfig(folder / f"judged-{id(proxy)}", proxy.url)
