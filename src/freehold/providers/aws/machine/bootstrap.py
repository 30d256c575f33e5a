"""Bootstrap data: how they reach the machine. Pure; no value of a Secret is in what it returns.

They go as user data of the instance, or they lie in Secrets Manager until the machine has fetched them: then the user
data are a script (``bootstrap.sh``) that fetches, checks and deletes the secrets, and has cloud-init run the data in
the same boot (docs/reference/aws.md#bootstrap-data).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from freehold.engine.secret_values import GZIP, compress, reference
from freehold.providers.objects.spec_problems import SpecProblem

CLOUD_CONFIG, IGNITION = "cloud-config", "ignition"
VALUE, FORMAT = "value", "format"
"""Keys of a Secret with bootstrap data.

https://cluster-api.sigs.k8s.io/developer/providers/contracts/bootstrap-config
"""
SECRETS_MANAGER = "secrets-manager"
MOST_USER_DATA = 16_384
"""Bytes before base64: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html"""
MOST_IN_SECRET = 7_000
"""Bytes in one secret, as CAPA has them; a secret holds 65,536
(https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html)."""
MOST_SECRETS = 100
"""More is no bootstrap data: a Secret of Kubernetes has at most a mebibyte."""
SECRET_NAMES = "aws.cluster.x-k8s.io/"  # noqa: S105 - the beginning of names
"""The beginning of the names that instance profiles of CAPA's users allow the machine to read and delete."""


@dataclass(frozen=True)
class BootstrapFields:
    """The fields of an AWSMachine's spec that say how."""

    skip_secrets_manager: bool = False
    """``cloudInit.insecureSkipSecretsManager``."""
    backend: str = SECRETS_MANAGER
    """``cloudInit.secureSecretsBackend``."""
    uncompressed: bool = False
    """``uncompressedUserData``."""


@dataclass(frozen=True)
class BootstrapFacts:
    """A Secret with bootstrap data, as far as it may be told."""

    secret: str
    format: str
    size: int
    compressed: int
    digest: str
    """SHA-256 of the compressed value, in hexadecimal."""

    @property
    def reference(self) -> str:
        return f"{self.secret}/{VALUE}"


@dataclass(frozen=True)
class BootstrapSecret:
    """One secret to be made: its place among the others, and the create request of kind ``bootstrap-secret``."""

    logical: str
    request: Mapping[str, Any]


@dataclass(frozen=True)
class BootstrapPlan:
    """How the data reach the machine.

    ``user_data`` is text, or a reference to the Secret; empty for none. ``secrets`` must be there before the instance.
    """

    user_data: str | Mapping[str, Any] = ""
    secrets: tuple[BootstrapSecret, ...] = ()


NO_BOOTSTRAP = BootstrapPlan()


def describe_secret(secret: str, value: bytes, form: str = "") -> BootstrapFacts:
    """Say of a Secret's ``value`` and ``format`` what a plan needs. A Secret without a format has cloud-init's."""
    packed = compress(value)
    return BootstrapFacts(secret, form or CLOUD_CONFIG, len(value), len(packed), hashlib.sha256(packed).hexdigest())


def check_backend(fields: BootstrapFields) -> tuple[SpecProblem, ...]:
    """Say why the data cannot lie where the spec wants them; before a Secret is read."""
    if fields.skip_secrets_manager or fields.backend == SECRETS_MANAGER:
        return ()
    advice = f"is not served: use {SECRETS_MANAGER}, which is the default"
    return (SpecProblem("spec.cloudInit.secureSecretsBackend", f"{fields.backend} {advice}"),)


def plan_bootstrap(
    fields: BootstrapFields, facts: BootstrapFacts, uuid: str
) -> BootstrapPlan | tuple[SpecProblem, ...]:
    """Plan how the data reach the machine, or say why they cannot. ``uuid`` is that of the object's identity."""
    if problems := (*check_backend(fields), *_check_data(facts)):
        return problems
    return _as_user_data(fields, facts) if fields.skip_secrets_manager else _in_secrets(facts, uuid)


def _check_data(facts: BootstrapFacts) -> tuple[SpecProblem, ...]:
    where = f"Secret {facts.secret}"
    if facts.format == IGNITION:
        return (SpecProblem(where, "its format is ignition, which is not served: use bootstrap data of cloud-init"),)
    if facts.format != CLOUD_CONFIG:
        return (SpecProblem(where, f"its format {facts.format!r} is not known: {CLOUD_CONFIG} is"),)
    if not facts.size:
        return (SpecProblem(where, f"its key {VALUE!r} is empty: bootstrap data are missing"),)
    if facts.compressed > MOST_SECRETS * MOST_IN_SECRET:
        most = f"{MOST_SECRETS * MOST_IN_SECRET:,}"
        return (
            SpecProblem(where, f"its key {VALUE!r} has {facts.compressed:,} bytes compressed, and {most} are the most"),
        )
    return ()


def _as_user_data(fields: BootstrapFields, facts: BootstrapFacts) -> BootstrapPlan | tuple[SpecProblem, ...]:
    size = facts.size if fields.uncompressed else facts.compressed
    if size <= MOST_USER_DATA:
        return BootstrapPlan(reference(facts.reference, form="" if fields.uncompressed else GZIP))
    have = f"the bootstrap data in Secret {facts.secret} have {size:,} bytes"
    most = f"and EC2 takes {MOST_USER_DATA:,} as user data"
    if facts.compressed <= MOST_USER_DATA:
        advice = f"compressed they have {facts.compressed:,}: remove this field"
        return (SpecProblem("spec.uncompressedUserData", f"{have}, {most}; {advice}"),)
    packed = "" if fields.uncompressed else " compressed"
    advice = "remove this field, and they lie in Secrets Manager until the machine has read them"
    return (SpecProblem("spec.cloudInit.insecureSkipSecretsManager", f"{have}{packed}, {most}: {advice}"),)


def _in_secrets(facts: BootstrapFacts, uuid: str) -> BootstrapPlan:
    """Return a secret for each piece. Names say what is in them: other data are other secrets, and the old ones go."""
    batch = facts.digest[:10]
    starts = range(0, facts.compressed, MOST_IN_SECRET)
    pieces = [(first, min(first + MOST_IN_SECRET, facts.compressed)) for first in starts]
    secrets = tuple(
        BootstrapSecret(
            f"{batch}-{index}",
            {
                "name": name_secret(uuid, f"{batch}-{index}"),
                "value": reference(facts.reference, form=GZIP, span=piece),
            },
        )
        for index, piece in enumerate(pieces)
    )
    return BootstrapPlan(_boot_script(name_secret(uuid, batch), len(pieces), facts), secrets)


def name_secret(uuid: str, logical: str) -> str:
    """Name a secret of the object with this identity."""
    return f"{SECRET_NAMES}{uuid}/{logical}"


def _boot_script(prefix: str, count: int, facts: BootstrapFacts) -> str:
    """Return the user data of a machine whose data lie in secrets: our script as cloud-init's ``bootcmd``.

    ``preserve_hostname`` is for the modules that follow ours in this pass of cloud-init: the data decide the name.
    """
    values = {"SECRET": prefix, "CHUNKS": count, "LENGTH": facts.compressed, "SHA256": facts.digest}
    lines = [*(f"{name}={value}" for name, value in values.items()), *_script().splitlines()]
    body = "\n".join(f"    {line}" for line in lines)
    return f"#cloud-config\npreserve_hostname: true\nbootcmd:\n  - |\n{body}\n"


@cache
def _script() -> str:
    """Return the script without its comments: user data and the record of an instance have little room."""
    lines = Path(__file__).with_name("bootstrap.sh").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
