"""The facts of AWS where nobody may be asked: no question has an answer.

What an adapter refuses with them is wrong in the object itself, and can be told when the object is applied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NoReturn

from freehold.engine.errors import Retryable
from freehold.engine.resources import Observed
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.cluster.facts import GivenNetwork, Namesake
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts, ControlPlaneQuestions
from freehold.providers.aws.machine.facts import MachineFacts, MachineQuestions
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NotThere


def _refuse() -> NoReturn:
    raise Retryable("AWS is not asked when an object is applied")


class UnaskedNetwork:
    """The reader of an AWSCluster's facts, and of a control plane's network."""

    not_bound: Final = ""

    async def zones(self) -> Answer[tuple[str, ...]] | NotThere:
        _refuse()

    async def network(self, vpc: str) -> Answer[GivenNetwork] | NotThere:
        _refuse()

    async def nat_addresses(self, vpc: str) -> Answer[Mapping[str, tuple[str, ...]]]:
        _refuse()

    async def has_ipv6(self, vpc: str) -> Answer[bool] | NotThere:
        _refuse()

    async def image(self) -> Answer[str] | NotThere:
        _refuse()

    async def groups(self, idents: Collection[str]) -> Answer[Mapping[str, str]]:
        _refuse()

    async def namesakes(self, cluster: str, uuid: str, of_workloads: str = "") -> Answer[tuple[Namesake, ...]]:
        """Return none: an object without a record is new, so that nothing of it is there yet."""
        return Answer(())


class UnaskedControlPlane:
    """The reader of a control plane's facts, and the source of its tokens."""

    async def read(self, questions: ControlPlaneQuestions) -> ControlPlaneFacts:
        return ControlPlaneFacts()

    async def sign_cluster_token(self, eks_name: str) -> SecretValue:
        _refuse()

    async def read_cluster(self, eks_name: str) -> Observed | None:
        _refuse()


class UnaskedMachine:
    """The reader of a machine's facts."""

    async def read(self, questions: MachineQuestions) -> MachineFacts:
        return MachineFacts(NOT_ASKED, NOT_ASKED, NOT_ASKED, NOT_ASKED, NOT_ASKED, eks_group=NOT_ASKED)
