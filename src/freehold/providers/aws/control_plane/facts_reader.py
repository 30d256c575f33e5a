"""The questions of a control plane (:mod:`facts`), answered by AWS once for all control planes that ask alike."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NotFound
from freehold.providers.aws.answer_cache import AnswerCache
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.control_plane.facts import (
    AddonVersions,
    ControlPlaneFacts,
    ControlPlaneQuestions,
    EncryptionKey,
)
from freehold.providers.aws.eks import SERVICE
from freehold.providers.objects.cloud_answers import Answer, NoAnswer, NotThere, to_no_answer

T = TypeVar("T")
_SLOW, _SOON = 3 * 3600.0, 300.0
"""Seconds for which an answer counts; and one about a key, which a person may enable, and that there is no profile: the
one of clusterawsadm need not be there. What else is not there is asked for again each time."""
_NONE = "none"
"""In place of the ARN of a role that is not there."""
_SYMMETRIC, _ENCRYPTS = "SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"


class AwsControlPlaneFactsReader:
    """The answers of one account and region (:class:`facts.ControlPlaneFactsReader`)."""

    def __init__(self, client: AwsClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self.renew()

    def renew(self) -> None:
        """Forget all answers."""
        self._answers = AnswerCache(self._clock)

    async def read(self, questions: ControlPlaneQuestions) -> ControlPlaneFacts:
        return ControlPlaneFacts(
            node_roles={name: await _answer(self._find_role_of(name)) for name in sorted(questions.profiles)},
            role_arn=await _answer(self._find_role(questions.role)) if questions.role else None,
            addon_versions={
                name: await _answer(self._find_addon(name, questions.version)) for name in sorted(questions.addons)
            },
            key=await _answer(self._find_key(questions.key)) if questions.key else None,
        )

    async def _find_role_of(self, profile: str) -> Answer[str] | NotThere:
        """Find the role of an instance profile: it has one at most
        (https://docs.aws.amazon.com/IAM/latest/APIReference/API_InstanceProfile.html)."""
        key = ("profile", profile)
        found = await self._answers.ask_once(key, _SLOW, lambda: self._read_profile(profile))
        if found == _NONE:
            found = await self._answers.ask_once(key, _SOON, lambda: self._read_profile(profile))
        return NotThere() if found == _NONE else Answer(found)

    async def _read_profile(self, profile: str) -> str:
        try:
            body = await self._client.read("iam", "get_instance_profile", profile, InstanceProfileName=profile)
        except NotFound:
            return _NONE
        return next((str(row["Arn"]) for row in body["InstanceProfile"]["Roles"]), _NONE)

    async def _find_role(self, name: str) -> Answer[str] | NotThere:
        found = await self._answers.ask_once(("role", name), _SLOW, lambda: self._read_role(name))
        return Answer(found) if found else NotThere()

    async def _read_role(self, name: str) -> str:
        try:
            return str((await self._client.read("iam", "get_role", name, RoleName=name))["Role"]["Arn"])
        except NotFound:
            return ""

    async def _find_addon(self, name: str, version: str) -> Answer[AddonVersions] | NotThere:
        """Find the versions of an addon; where EKS has no such addon, the names of those that it has."""
        asked = {"addonName": name, "kubernetesVersion": version}
        rows = await self._answers.ask_once(("addon", name, version), _SLOW, lambda: self._list_addons(**asked))
        if rows:
            return Answer(_versions_of(rows[0], version))
        every = await self._answers.ask_once(
            ("addons", version), _SLOW, lambda: self._list_addons(kubernetesVersion=version)
        )
        return NotThere(tuple(sorted(str(row["addonName"]) for row in every)))

    async def _list_addons(self, **asked: str) -> Sequence[Json]:
        """List addons. An unknown name is refused or answered with an empty list: either way there is none."""
        subject = asked.get("addonName", f"all for {asked['kubernetesVersion']}")
        try:
            return await self._client.read_list(SERVICE, "describe_addon_versions", "addons", subject, **asked)
        except NotFound:
            return []

    async def _find_key(self, key: str) -> Answer[EncryptionKey] | NotThere:
        found = await self._answers.ask_once(("key", key), _SOON, lambda: self._read_key(key))
        return Answer(found) if found else NotThere()

    async def _read_key(self, key: str) -> EncryptionKey | None:
        """Read a key, by its ARN or that of an alias. EKS takes a symmetric one that is enabled, for encryption
        (https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html)."""
        try:
            row = (await self._client.read("kms", "describe_key", key, KeyId=key))["KeyMetadata"]
        except NotFound:
            return None
        problem = ""
        if not row.get("Enabled", True):
            problem = f"it is {row.get('KeyState', 'not enabled')}: enable it, or name another one"
        elif (row.get("KeySpec", _SYMMETRIC), row.get("KeyUsage", _ENCRYPTS)) != (_SYMMETRIC, _ENCRYPTS):
            problem = "it is no symmetric key for encryption: name another one"
        return EncryptionKey(str(row["Arn"]), problem)


def _versions_of(row: Json, version: str) -> AddonVersions:
    default = next(
        (
            str(each["addonVersion"])
            for each in row.get("addonVersions", ())
            for fits in each.get("compatibilities", ())
            if fits.get("defaultVersion") and fits.get("clusterVersion") == version
        ),
        "",
    )
    return AddonVersions(tuple(str(each["addonVersion"]) for each in row.get("addonVersions", ())), default)


async def _answer(question: Awaitable[Answer[T] | NotThere]) -> Answer[T] | NotThere | NoAnswer:
    try:
        return await question
    except CloudError as error:
        return to_no_answer(error)
