"""The steps about machines: one behind the load balancer, one worker, each made once and gone completely."""

from __future__ import annotations

from freehold.api import names
from freehold.cli.objects.following import Followed, UntilGone, follow
from freehold.demo import checks, steps
from freehold.demo.acts import Act, LostReply
from freehold.demo.aws_act import AWSAct
from freehold.demo.stage import ServedSession, Stage
from freehold.demo.world import CloudResource, select_ours
from freehold.kube.resources import Json

_PATIENCE = 120.0
_LOOK = 0.15
_MACHINE = "AWSMachine"

_LOST = LostReply(
    "ec2.RunInstances",
    "instance",
    "an instance has been made, its reply never came; it is asked for again with the same token",
)
_OF_A_MACHINE = frozenset({"instance", "volume", "network-interface", "secret"})


async def killed_in_run_instances(stage: Stage, act: Act, serving: ServedSession) -> None:
    """Kill the operator when the reply to the create of the first machine is lost."""
    await act.world.lose_reply(_LOST.operation)
    await steps.kill_once_made(stage, act, serving, _LOST)
    stage.tell_checked_step("the next operator is killed too, in the middle of RunInstances", _LOST.told)


async def behind_the_balancer(stage: Stage, act: AWSAct, serving: ServedSession) -> None:
    """Each machine has one instance; that of the control plane is a healthy target, and the worker is none."""
    there = select_ours(await act.aws.resources())
    machines = [await serving.session.client.get(*each) for each in _machines(act)]
    expected = {_instance(each): _is_control_plane(each) for each in machines}
    running = {each.id for each in there if each.kind == "instance" and each.state == "running"}
    if running != expected.keys():
        raise checks.NotSo(f"the machines are {sorted(expected)}, and instances run: {sorted(running)}")
    [group] = [each for each in there if each.kind == "target-group"]
    wanted = {ident: "healthy" for ident, control_plane in expected.items() if control_plane}

    async def healthy() -> bool:
        return await act.aws.target_health(group.address) == wanted

    await stage.wait_until(healthy, _LOOK, _PATIENCE)
    roles = {True: "a healthy target of the load balancer", False: "no target of it"}
    stage.tell_checked_step(
        "each machine is one instance, and the control plane's is behind the load balancer",
        *(f"{each['metadata']['name']} is {_instance(each)}, {roles[_is_control_plane(each)]}" for each in machines),
    )


async def worker_deleted(stage: Stage, act: AWSAct, serving: ServedSession) -> None:
    """Delete one machine of a cluster that stays."""
    client = serving.session.client
    [worker] = [each for each in _machines(act) if not _is_control_plane(await client.get(*each))]
    before = await act.aws.resources()
    mine = [each for each in select_ours(before) if each.kind in _OF_A_MACHINE and _is_of(each, worker)]
    kinds = {each.kind for each in mine}
    if kinds != _OF_A_MACHINE:
        raise checks.NotSo(f"the worker has no more than {', '.join(sorted(kinds)) or 'nothing'}")
    await client.delete(*worker)
    await follow(serving.session, [worker], stage.show, UntilGone(), patience=_PATIENCE)
    act.followed.remove(worker)
    after = {each.id: each for each in await act.aws.resources()}
    if left := [each.name for each in mine if each.id in after]:
        raise checks.NotSo(f"left behind by the worker: {', '.join(left)}")
    if lost := [each.name for each in before if each.id not in after and each not in mine]:
        raise checks.NotSo(f"gone with the worker: {', '.join(lost)}")
    stage.tell_checked_step(
        f"{worker[1].name} is deleted: gone with its secret and volumes",
        f"gone: {', '.join(sorted(each.kind for each in mine))}; all else is there",
    )


def _machines(act: Act) -> list[Followed]:
    return [each for each in act.followed if each[0].kind == _MACHINE]


def _instance(machine: Json) -> str:
    return str(machine["spec"]["providerID"]).rpartition("/")[2]


def _is_control_plane(machine: Json) -> bool:
    return names.CONTROL_PLANE_LABEL in (machine["metadata"].get("labels") or {})


def _is_of(resource: CloudResource, machine: Followed) -> bool:
    """Return whether it has our mark, or, where it needs none because it goes with the instance, the machine's name."""
    return bool({f"freehold.dev/owner={machine[1]}", f"MachineName={machine[1]}"} & resource.tags)
