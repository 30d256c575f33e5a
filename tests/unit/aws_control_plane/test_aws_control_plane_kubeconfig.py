"""Kubeconfig Secrets of a control plane: names, keys, and what each lets in (docs/reference/capi-contract.md C41)."""

from __future__ import annotations

import base64
import math
from dataclasses import replace
from typing import Any

import pytest
import yaml

from freehold.api import names
from freehold.engine.secret_values import SecretValue
from freehold.providers.aws.control_plane.kubeconfig import ClusterAccess, TokenMethod, build_secrets
from freehold.providers.objects.kept_secrets import WantedSecret

CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n" + b"x" * 900).decode()
ACCESS = ClusterAccess("team-a_demo", "https://ABC.gr7.eu-central-1.eks.amazonaws.com", CA, "eu-central-1")
TOKEN = SecretValue("token", b"k8s-aws-v1.aHR0cHM6Ly9zdHM")


def built(access: ClusterAccess = ACCESS, token: SecretValue = TOKEN) -> tuple[WantedSecret, WantedSecret]:
    machine, user = build_secrets("demo", access, token)
    return machine, user


def config(secret: WantedSecret, key: str = "value") -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(secret.data[key].reveal())
    return found


def test_both_are_named_typed_and_labelled_after_the_cluster() -> None:
    machine, user = built()
    assert (machine.name, user.name) == ("demo-kubeconfig", "demo-user-kubeconfig")
    for each in (machine, user):
        assert each.type == "cluster.x-k8s.io/secret"
        assert each.labels == {names.CLUSTER_NAME_LABEL: "demo"}
    assert (set(machine.data), set(user.data)) == ({"value", "relative", "token-file"}, {"value"})
    assert (machine.renew_every, user.renew_every) == (450.0, math.inf)


def test_the_kubeconfig_of_cluster_api_leads_to_the_cluster_with_the_token() -> None:
    [machine, _] = built()
    assert config(machine) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "team-a_demo", "cluster": {"server": ACCESS.endpoint, "certificate-authority-data": CA}}
        ],
        "users": [{"name": "team-a_demo-capi-admin", "user": {"token": TOKEN.reveal().decode()}}],
        "contexts": [
            {
                "name": "team-a_demo-capi-admin@team-a_demo",
                "context": {"cluster": "team-a_demo", "user": "team-a_demo-capi-admin"},
            }
        ],
        "current-context": "team-a_demo-capi-admin@team-a_demo",
    }  # fmt: skip


def test_a_mounted_secret_takes_the_token_from_the_file_beside() -> None:
    [machine, _] = built()
    [user] = config(machine, "relative")["users"]
    assert user["user"] == {"tokenFile": "./token-file"}
    assert machine.data["token-file"].reveal() == TOKEN.reveal()


COMMANDS = {
    TokenMethod.AUTHENTICATOR: (["aws-iam-authenticator", "token", "-i", "team-a_demo"], "--role"),
    TokenMethod.CLI: (["aws", "eks", "get-token", "--cluster-name", "team-a_demo"], "--role-arn"),
}


@pytest.mark.parametrize("role", ["", "arn:aws:iam::111122223333:role/people"])
@pytest.mark.parametrize("method", COMMANDS)
def test_people_run_a_command_with_their_own_credentials(method: TokenMethod, role: str) -> None:
    start, option = COMMANDS[method]
    command = [*start, *([option, role] if role else [])]
    _, person = built(replace(ACCESS, token_method=method, role_arn=role))
    [user] = config(person)["users"]
    assert user["name"] == "team-a_demo-user"
    assert user["user"]["exec"] == {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command[0],
        "args": command[1:],
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "interactiveMode": "IfAvailable",
    }
    assert TOKEN.reveal() not in person.data["value"].reveal()


def test_a_new_token_alone_changes_nothing_and_another_cluster_changes_both() -> None:
    again = built(token=SecretValue("token", b"k8s-aws-v1.another"))
    assert [each.basis for each in again] == [each.basis for each in built()]
    for changed in (replace(ACCESS, endpoint="https://other"), replace(ACCESS, certificate="eA==")):
        assert not {each.basis for each in built(changed)} & {each.basis for each in built()}


@pytest.mark.parametrize("name", ["a: b", "'", "{x}", "yes", "1e3"])
def test_a_name_stays_a_name(name: str) -> None:
    [machine, _] = built(replace(ACCESS, eks_name=name))
    assert config(machine)["clusters"][0]["name"] == name
