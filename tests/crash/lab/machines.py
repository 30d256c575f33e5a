"""A second in-memory world, with kinds that behave as some of AWS do: a net, a machine, and a pool.

A machine takes a client token and tags in its create. The token ends after a day, binds request and tags,
and a refused create binds it too (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html says the
least of it; the rest is the worst that a cloud may do). The create of a pool answers with what has its name, and does
not show its tags (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html).
What was on a machine goes with it, so one that has gone is not made again. It gets a secret value, which a refusal
repeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from freehold.engine.graph import Node
from freehold.engine.interface import EngineDeps
from freehold.engine.kinds import AttributeRules, CreateRules, Dedupe, DeleteRules, Kind, ReadRules, Tagging
from freehold.engine.port import Port
from freehold.engine.secret_values import reference
from lab.cloud import Traits
from lab.drivers import MemoryDriver, MemorySecrets
from lab.life import Life
from lab.world import SETTLE, TRAITS, MemoryWorld, node

DAY = 86_400.0

MACHINE_TRAITS = {
    t.name: t
    for t in (
        Traits(
            "machine",
            token=True,
            tags_on_create=True,
            token_life=DAY,
            refusals_bind=True,
            secret="user_data",
            echoes=True,
        ),
        Traits("pool", tags_on_create=True, unique=True, answers_existing=True, tags_in_reply=False),
    )
}


SECRET = "node-data/value"
FIRST_DATA = b"#cloud-config\npassword: correct-horse-battery\n"
OTHER_DATA = b"#cloud-config\npassword: another-password\n"


def machines() -> list[Node]:
    machine = node("machine/node", "net/main", user_data=reference(SECRET))
    return [node("net/main", size=1), machine, node("pool/api")]


@dataclass
class MachineWorld(MemoryWorld):
    """A net and what is on it. The operator's credentials have a name, which the cloud binds tokens to."""

    nodes: Iterable[Node] = field(default_factory=machines)
    traits: dict[str, Traits] = field(default_factory=lambda: {**TRAITS, **MACHINE_TRAITS})

    secrets: dict[str, bytes] = field(default_factory=lambda: {SECRET: FIRST_DATA})
    lasting: tuple[str, ...] = ()  # what the create of a machine decides for life, and no read shows

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cloud.caller = "operator"

    def deps(self, port: Port) -> EngineDeps:
        deps = super().deps(port)
        return replace(deps, secrets=MemorySecrets(self.secrets, deps.port))

    def unaudited(self, sent: int) -> list[str]:
        return [*super().unaudited(sent), *self.revealed(), *self._misinformed()]

    def _misinformed(self) -> list[str]:
        """Machines of ours whose user data is not what a Secret had."""
        known = (FIRST_DATA.decode(), OTHER_DATA.decode())
        ours = [resource for resource in self.cloud.log if (resource.kind, resource.creator) == ("machine", self.actor)]
        return [f"{each.id} has no user data" for each in ours if each.secret_value not in known]

    def revealed(self) -> list[str]:
        """Where a secret value, or a line of it, can be read by those who may not read the Secret."""
        assert isinstance(self.life, Life)
        outcomes = self.life.last.outcomes if self.life.last else {}
        shown = {
            "the record": " ".join(self.life.stored.versions),
            "an outcome": " ".join(map(repr, outcomes.values())),
            "the audit log": " ".join(f"{line.call.subject} {line.call.detail}" for line in self.audit.lines),
            "the resources": " ".join(str(resource.attributes) for resource in self.cloud.log),
        }
        lines = [line for data in (FIRST_DATA, OTHER_DATA) for line in data.decode().split("\n")[1:] if line]
        return [f"{where} shows a secret value" for where, text in shown.items() if any(line in text for line in lines)]

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        return (*super().kinds(port), self._machine(port), self._pool(port))

    def _machine(self, port: Port) -> Kind:
        return replace(
            self._kind("machine", Dedupe.TOKEN, port),
            creation=CreateRules(token_life=self.traits["machine"].token_life, never_recreate=True),
            attributes=AttributeRules(create_only=frozenset(self.lasting)),
        )

    def _pool(self, port: Port) -> Kind:
        return replace(self._kind("pool", Dedupe.KEY, port), requires=(), creation=CreateRules(answers_existing=True))

    def _kind(self, name: str, dedupe: Dedupe, port: Port) -> Kind:
        driver = MemoryDriver(self.cloud, port, name, actor=self.actor)
        traits = self.traits[name]
        return Kind(
            name,
            Tagging.ON_CREATE,
            dedupe,
            driver,
            requires=("net",),
            settle=SETTLE,
            creation=CreateRules(usual_time=traits.create_time),
            deletion=DeleteRules(usual_time=traits.delete_time),
            reads=ReadRules(listing=driver),
        )
