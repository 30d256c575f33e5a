"""How bootstrap data reach a machine: as user data, or in secrets that a script fetches; and what is refused."""

from __future__ import annotations

import gzip
import random
import re

import pytest
import yaml

from freehold.engine.secret_values import find_references
from freehold.providers.aws.machine.bootstrap import (
    MOST_IN_SECRET,
    MOST_USER_DATA,
    BootstrapFields,
    BootstrapPlan,
    describe_secret,
    plan_bootstrap,
)
from freehold.providers.objects.spec_problems import SpecProblem

UUID = "6b1f3c52-0000-4000-8000-000000000001"
SMALL = b"## template: jinja\n#cloud-config\nruncmd:\n- kubeadm join --token abcdef.0123456789abcdef\n"
PLAIN, RAW = BootstrapFields(skip_secrets_manager=True), BootstrapFields(skip_secrets_manager=True, uncompressed=True)


def random_data(size: int) -> bytes:
    """What compression does not make smaller."""
    return random.Random(size).randbytes(size)


def plan(data: bytes, fields: BootstrapFields = BootstrapFields()) -> BootstrapPlan:  # noqa: B008 - frozen
    found = plan_bootstrap(fields, describe_secret("boot", data), UUID)
    assert isinstance(found, BootstrapPlan), found
    return found


def problems(data: bytes, fields: BootstrapFields, form: str = "") -> list[str]:
    found = plan_bootstrap(fields, describe_secret("boot", data, form), UUID)
    assert not isinstance(found, BootstrapPlan)
    assert all(isinstance(each, SpecProblem) for each in found)
    return [str(each) for each in found]


@pytest.mark.parametrize("size", [1, MOST_IN_SECRET, MOST_IN_SECRET + 1, 60_000])
def test_the_pieces_together_are_the_data(size: int) -> None:
    data = random_data(size)
    secrets = plan(data).secrets
    pieces = [find_references(each.request)[0].transform(data) for each in secrets]
    assert all(0 < len(piece) <= MOST_IN_SECRET for piece in pieces)
    assert gzip.decompress(b"".join(pieces)) == data
    assert [each.request["name"].rpartition("-")[2] for each in secrets] == [str(n) for n in range(len(pieces))]


def test_the_names_are_those_that_instance_profiles_allow() -> None:
    for each in plan(SMALL).secrets:
        assert each.request["name"].startswith(f"aws.cluster.x-k8s.io/{UUID}/")
        assert re.fullmatch(r"[A-Za-z0-9/_+=.@-]{1,512}", each.request["name"])


def test_other_data_are_other_secrets() -> None:
    """So that a machine never finds pieces of two versions under one name."""
    before, after = plan(SMALL).secrets, plan(SMALL + b"#\n").secrets
    assert {each.logical for each in before}.isdisjoint(each.logical for each in after)
    assert {each.request["name"] for each in before}.isdisjoint(each.request["name"] for each in after)
    assert plan(SMALL) == plan(SMALL)


def test_what_the_plan_has_is_no_value() -> None:
    for fields in (BootstrapFields(), PLAIN, RAW):
        shown = repr(plan(SMALL, fields))
        assert "kubeadm" not in shown and "abcdef" not in shown


def test_the_user_data_are_a_script_of_cloud_init() -> None:
    data = random_data(9_000)
    text = plan(data).user_data
    assert isinstance(text, str) and len(text) < MOST_USER_DATA / 2
    (script,) = yaml.safe_load(text)["bootcmd"]
    facts = describe_secret("boot", data)
    assert f"CHUNKS=2\nLENGTH={facts.compressed}\nSHA256={facts.digest}\n" in script


@pytest.mark.parametrize(("fields", "form"), [(PLAIN, "gzip"), (RAW, "")])
def test_without_secrets_manager_the_data_are_the_user_data(fields: BootstrapFields, form: str) -> None:
    found = plan(SMALL, fields)
    (one,) = find_references({"user_data": found.user_data})
    assert (one.reference, one.form, found.secrets) == ("boot/value", form, ())
    sent = one.transform(SMALL)
    assert (gzip.decompress(sent) if form else sent) == SMALL


def test_the_limit_of_user_data_is_said_with_the_number() -> None:
    assert plan(random_data(MOST_USER_DATA), RAW)
    (one,) = problems(random_data(MOST_USER_DATA + 1), RAW)
    assert one == (
        "spec.cloudInit.insecureSkipSecretsManager: the bootstrap data in Secret boot have 16,385 bytes, and EC2 takes "
        "16,384 as user data: remove this field, and they lie in Secrets Manager until the machine has read them"
    )
    (one,) = problems(random_data(20_000), PLAIN)
    size = describe_secret("boot", random_data(20_000)).compressed
    assert f"have {size:,} bytes compressed, and EC2 takes 16,384" in one
    (one,) = problems(b"#" * 20_000, RAW)
    assert one.startswith("spec.uncompressedUserData: ") and "20,000 bytes" in one and "remove this field" in one
    assert plan(b"#" * 20_000, PLAIN)


def test_what_is_not_served_is_refused_by_name() -> None:
    assert problems(SMALL, BootstrapFields(backend="ssm-parameter-store")) == [
        "spec.cloudInit.secureSecretsBackend: ssm-parameter-store is not served: use secrets-manager, which is the "
        "default"
    ]
    assert plan(SMALL, BootstrapFields(skip_secrets_manager=True, backend="ssm-parameter-store"))
    assert "Secret boot: its format is ignition" in problems(b"{}", PLAIN, "ignition")[0]
    assert "Secret boot: its format 'talos' is not known" in problems(SMALL, PLAIN, "talos")[0]
    assert "Secret boot: its key 'value' is empty" in problems(b"", BootstrapFields())[0]
    assert "bytes compressed, and 700,000 are the most" in problems(random_data(800_000), BootstrapFields())[0]
