"""Services that are down for longer than settle, expiring credentials, quotas, and resources that fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from freehold.engine.outcomes import Blocked, Reason
from freehold.engine.port import Call, Effect
from lab import faults
from lab.catalogue import FORGOTTEN, TAG_APIS, Families, Ground, delete_now, given
from lab.families import Case
from lab.faults import Script, Spell, of_the_cloud
from lab.life import Course, Wedged
from lab.oracles import NO_EXCUSE, Excuse
from lab.seam import World

Hits = Callable[[Call], bool]

FULL = Excuse(frozenset({Reason.QUOTA}))


def _tags(call: Call) -> bool:
    return call.api in TAG_APIS or call.api == "search"


def _reads(call: Call) -> bool:
    return call.effect is Effect.READ


def _lists(call: Call) -> bool:
    return call.effect is Effect.READ and call.operation.startswith(("find", "list", "describe"))


def _store(call: Call) -> bool:
    return call.effect is Effect.STORE


CREATES = ("create_", "allocate_", "run_instances")


def creates(call: Call) -> bool:
    return call.effect is Effect.WRITE and call.operation.startswith(CREATES)


SERVICES: dict[str, Hits] = {"all": of_the_cloud, "tags": _tags, "reads": _reads, "lists": _lists, "objects": _store}


def _service(kind: str) -> Hits:
    word = kind.replace("-", "_")
    return lambda call: call.effect is not Effect.STORE and call.operation.endswith(word)


def down(on: Ground) -> Iterator[Case]:
    """A service does not answer for longer than settle, from each call on."""
    longer = on.settle + 30.0
    services = itertools.cycle([*SERVICES.items(), *((kind, _service(kind)) for kind in on.kinds[:3])])
    for number in range(on.last):
        for name, hits in itertools.islice(services, 3):
            script = Script(spells=(Spell(number, longer, faults.UNAVAILABLE, hits),))
            yield Case(f"{name} down from {number}", on.world, partial(given, script))


def down_in_recovery(
    on: Ground, on_crash: Callable[[Any], None] = lambda life: None, excuse: Excuse = NO_EXCUSE
) -> Iterator[Case]:
    """The process dies, and its successor finds a service down for longer than settle.

    A request of the dead process takes effect while nothing can be read; that time must not count as settled.
    """
    longer, services = on.settle + 30.0, itertools.cycle(SERVICES.items())
    crashes = (faults.AFTER, faults.late_crash(20), faults.late_crash(35))
    for number, fault in itertools.product(range(on.last), crashes):
        name, hits = next(services)
        script = Script({number: fault}, spells=(Spell(number + 1, longer, faults.UNAVAILABLE, hits),))
        yield Case(
            f"{fault} at {number}, {name} down",
            on.world,
            partial(given, script),
            on_crash=on_crash,
            excuse=excuse,
        )


def down_at_first_look(on: Ground) -> Iterator[Case]:
    """The same for one second only: one failed read at the start of a process must not count as an answer."""
    for number, (name, hits) in itertools.product(range(0, on.last, 2), SERVICES.items()):
        script = Script({number: faults.AFTER}, spells=(Spell(number + 1, 1.0, faults.UNAVAILABLE, hits),))
        yield Case(f"dead at {number}, {name} down", on.world, partial(given, script), on_crash=delete_now)


def down_and_restored(on: Ground) -> Iterator[Case]:
    yield from down_in_recovery(on, on_crash=_restored_and_deleted, excuse=FORGOTTEN)


def _restored_and_deleted(life: Course) -> None:
    life.roll_back()
    life.deleting = True


def expired(on: Ground) -> Iterator[Case]:
    """Credentials are refused for a while, also to a process that has just started; then all continues."""
    for number in range(on.last):
        for seconds in (20.0, on.settle + 30.0):
            script = Script(spells=(Spell(number, seconds, faults.DENIED),))
            yield Case(f"denied for {seconds:g} s from {number}", on.world, partial(given, script))
        for fault, on_crash in ((faults.AFTER, _nothing), (faults.late_crash(20), delete_now)):
            script = Script({number: fault}, spells=(Spell(number + 1, on.settle + 30.0, faults.DENIED),))
            label = f"{fault} at {number}, then denied"
            yield Case(label, on.world, partial(given, script), on_crash=on_crash)


def quota(on: Ground) -> Iterator[Case]:
    """A limit is reached at each call: for a while, with a crash in it, or until the object is deleted."""
    for number in on.numbers(creates):
        for seconds in (60.0, 900.0):
            for crash in range(0, 14, 2):
                crashes = {number + crash: faults.AFTER} if crash else {}
                script = Script(crashes, spells=(Spell(number, seconds, faults.QUOTA, creates),))
                yield Case(f"quota for {seconds:g} s from {number}, crash {crash}", on.world, partial(given, script))
        forever = Script(spells=(Spell(number, float("inf"), faults.QUOTA, creates),))
        yield Case(
            f"quota from {number} on",
            on.world,
            partial(given, forever),
            excuse=Excuse(frozenset({Reason.QUOTA}), words=frozenset(CREATES)),
        )


def _nothing(life: Course) -> None:
    return None


# -- failed provisioning --------------------------------------------------------------------------------


def failing(on: Ground) -> Iterator[Case]:
    """A resource of each kind fails: it is reported, still ours, and deleted with the object."""
    for kind in on.fails:
        for number in (None, *range(on.first_creates.start, on.begun, 4)):
            for fault in (faults.AFTER, faults.late_crash(20)) if number is not None else (faults.AFTER,):
                script = partial(_fails, kind=kind, crashes={number: fault} if number is not None else {})
                yield Case(
                    f"{kind} fails, {fault} at {number}",
                    on.world,
                    script,
                    excuse=Excuse(frozenset({Reason.FAILED}), frozenset({kind})),
                    after_create=partial(_named_as_failed, kind),
                )


def _fails(world: World, *, kind: str, crashes: dict[int, faults.Fault]) -> Script:
    return Script(crashes, {0: lambda: world.meddle("fail", kind)})


def _named_as_failed(kind: str, life: Course) -> None:
    """A message must name the failed resource."""
    done = life.last
    made = [thing for thing in life.world.living() if thing.ours and thing.kind in (kind, _other_word(kind))]
    failed = [thing for thing in made if not _came_up(thing.state)]
    told = [o for o in (done.outcomes.values() if done else ()) if isinstance(o, Blocked) and o.reason is Reason.FAILED]
    if failed and not any(failed[0].id in o.message for o in told):
        raise Wedged(f"nobody says that {failed[0].id} of {kind} failed: {[o.message for o in told]}")


def _came_up(state: object) -> bool:
    """Whether it works in the simulated cloud: a late effect clears the simulator's faults, and this one, too."""
    words = (b'"state": "active"', b'"state": "available"', b'"State": "available"')
    return isinstance(state, bytes) and any(word in state for word in words)


def _other_word(kind: str) -> str:
    return {"workspace": "instance", "vpc-subnet": "subnet", "transit-gateway": "gateway"}.get(kind, kind)


def families(on: Ground) -> Families:
    return {
        "outage longer than settle": lambda: down(on),
        "an outage when the process comes back": lambda: down_in_recovery(on),
        "an outage when the process comes back to a delete": lambda: down_in_recovery(on, on_crash=delete_now),
        "an outage when a restored process comes back": lambda: down_and_restored(on),
        "one failed read at the start of a delete": lambda: down_at_first_look(on),
        "credentials expire for a while": lambda: expired(on),
        "a quota is reached": lambda: quota(on),
        "provisioning fails": lambda: failing(on),
    }
