"""``freehold recover``: an object whose store was lost, rebuilt from its marks in the cloud. A plan first."""

from __future__ import annotations

import contextlib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.cli import hints, orphans
from freehold.cli.access import Access, access
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.kinds import OURS
from freehold.cli.local_plans import ibm_of
from freehold.cli.lookup import key_ring
from freehold.cli.orphans import present_uuids
from freehold.cli.running import run as run_to_end
from freehold.cli.session import Session, opened
from freehold.cli.tables import with_ids
from freehold.cli.terminal import say, tell, width
from freehold.kube.errors import AlreadyExists, NotFound
from freehold.kube.resources import NAMESPACES, Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from freehold.operator.orphans import MarkedOwner
    from freehold.operator.recovery import Judged, Recovery


def run(
    name: str | None, uuid: str, all_: bool, key_lost: bool, yes: bool, simulate: bool, speed: float, namespace: str,
    state: Path | None, kubeconfig: str, simulator: str, keys_namespace: str,
) -> None:  # fmt: skip
    """The command. Raises CliError."""
    if all_:
        if name or uuid or yes or key_lost:
            raise CliError("--all only lists; recover them one at a time: freehold recover --uuid U", code=MISUSED)
        orphans.run(simulate, speed, "table", state, kubeconfig, simulator, keys_namespace)
        return
    if (name is None) == (not uuid):
        raise CliError("say what to recover: freehold recover NAME, or freehold recover --uuid U", code=MISUSED)
    target = access(
        state, kubeconfig=kubeconfig, operator=False, simulate=simulate, speed=speed, simulator=simulator,
        keys_namespace=keys_namespace,
    )  # fmt: skip
    run_to_end(_recover(target, name or "", uuid, namespace, key_lost=key_lost, yes=yes))


async def _recover(target: Access, name: str, uuid: str, namespace: str, *, key_lost: bool, yes: bool) -> None:
    from freehold.api.served import POWERVS_CLUSTER
    from freehold.lifecycle.errors import CloudError
    from freehold.operator.orphans import orphans as orphaned
    from freehold.operator.recovery import NoOwner, rebuilt, recovery_of

    async with opened(target) as session, AsyncExitStack() as stack:
        ring = await key_ring(target, session)
        if ring is None:
            raise CliError("there is no key ring that this command can read: freehold keys add FILE, or keys new")
        present = await present_uuids(session)
        account = await ibm_of(session, target, stack)
        deps = account.read_only_deps(ring)
        try:
            found = _chosen(await orphaned(deps, present), name, uuid, namespace or session.namespace)
            recovery = recovery_of(found, POWERVS_CLUSTER, deps)
            number = await account.account()
        except CloudError as error:
            raise CliError(error.message) from error
        except NoOwner as problem:
            raise CliError(str(problem)) from problem
        owner = recovery.owner
        await _refuse_namesake(session, Key(owner.namespace, owner.name))
        _print(recovery, key_lost=key_lost)
        if recovery.unread:
            raise CliError("not all could be read, so nothing is decided; run the same command again")
        if recovery.claimed_twice:
            lines = [f"{one.marked.key}: {one.marked.target}" for one in recovery.claimed_twice]
            raise CliError(
                "several have the mark of one resource, and without the key nothing tells which is ours", lines
            )
        if recovery.unproven and not key_lost:
            raise CliError(
                f"{len(recovery.unproven)} of them have marks that this key ring did not make. If that key is known: "
                f"freehold keys add FILE. If it is lost for ever and they are all {owner.namespace}/{owner.name}'s: "
                f"freehold recover --uuid {owner.uuid} --key-lost"
            )
        if not yes:
            lost = " --key-lost" if key_lost and recovery.unproven else ""
            tell(f"nothing was done. To make the object, paused: freehold recover --uuid {owner.uuid}{lost} --yes")
            return
        await _create(session, rebuilt(recovery, POWERVS_CLUSTER, number, deps, seal_anew=key_lost))
        tell(f"{owner.kind} {owner.namespace}/{owner.name} is there again, paused: nothing is written to the cloud")
        up = hints.command("up -f FILE", namespace=owner.namespace)
        tell(f"apply its manifest: {up}; or delete all: {hints.command('down', owner.name, namespace=owner.namespace)}")


def _chosen(found: Sequence[MarkedOwner], name: str, uuid: str, namespace: str) -> MarkedOwner:
    """Raises CliError unless it is just one."""
    wanted = f"{namespace}.{name}".casefold()
    fit = [one for one in found if one.uuid == uuid.casefold() or (name and wanted in map(str.casefold, one.names))]
    if len(fit) == 1:
        return fit[0]
    what = f"uuid {uuid}" if uuid else f"{namespace}/{name}"
    if not fit:
        raise CliError(
            f"nothing on IBM Cloud has the marks of {what} and no object here; see freehold orphans. Objects of AWS "
            "are not recovered: put them back from a backup of the store"
        )
    lines = [f"{one.uuid}: {len(one.resources)} resources" for one in fit]
    raise CliError(f"several lost objects were called {what}; choose one: freehold recover --uuid U", lines)


async def _refuse_namesake(session: Session, key: Key) -> None:
    try:
        await session.client.get(OURS[0], key)
    except NotFound:
        return
    raise CliError(
        f"there is an {OURS[0].kind} {key} already, with another uuid: what both would own must not be mixed. Delete "
        f"it first, if it owns nothing: {hints.command('down', key.name, namespace=key.namespace)}"
    )


async def _create(session: Session, obj: dict[str, object]) -> None:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": metadata["namespace"]}}
    with contextlib.suppress(AlreadyExists):
        await session.client.create(NAMESPACES, home)
    await session.client.create(OURS[0], obj)


def _print(recovery: Recovery, *, key_lost: bool) -> None:
    owner = recovery.owner
    tell(f"{owner.kind} {owner.namespace}/{owner.name} (uuid {owner.uuid}):")
    rows = [_row(one, is_in=recovery.is_recovered(one, key_lost=key_lost)) for one in recovery.resources]
    for line in with_ids(("ACTION", "KIND", "NAME", "ID", "PROOF"), rows, width()):
        say(line)
    tell(
        "Another management cluster or laptop may still serve it: two operators would work against each other. Be sure "
        "that it is gone there."
    )


def _row(one: Judged, *, is_in: bool) -> tuple[str, ...]:
    what = "recover" if is_in else "left out"
    marked = one.marked
    return (
        what,
        marked.key.kind,
        marked.name or marked.key.logical,
        marked.id.rpartition("/")[2] or marked.target,
        one.source,
    )
