"""``freehold manifests`` takes the options of the table, and says which of them cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from freehold.install.objects import build_objects
from freehold.install.options import ROWS, InstallOptions
from harness.commands import freehold

GIVEN = InstallOptions(
    namespace="tenants",
    replicas=3,
    image="registry.example/freehold:2",
    image_pull_secret="pull",
    providers=("ibm",),
    feature_gates={"EKSEnableIAM": True, "ExternalResourceGC": False},
    serves_namespace="team-a",
    watch_filter="blue",
    shards=6,
    log_level="debug",
    log_format="text",
    cert_manager=True,
    credentials={"aws": "freehold-aws-credentials", "ibm": "key"},
    env={"A": "b=c,d", "E": ""},
    token_audience="iam",
    service_account_annotations={"example.org/role": "x"},
    monitoring=True,
    page=True,
    network_policy=False,
    egress_ports=(443, 8443),
    cpu_request="1",
    memory_request="1Gi",
    memory_limit="2Gi",
)
ARGUMENTS = """
--namespace tenants --replicas 3 --image registry.example/freehold:2 --image-pull-secret pull --providers ibm
--feature-gates EKSEnableIAM=true,ExternalResourceGC=false --namespace-only team-a --watch-filter blue --shards 6
--log-level debug --log-format text --cert-manager --credentials ibm=key --env A=b=c,d --env E= --token-audience iam
--service-account-annotation example.org/role=x --monitoring --page --no-network-policy --egress-ports 443,8443
--cpu-request 1 --memory-request 1Gi --memory-limit 2Gi
"""


def test_command_prints_the_objects_of_its_options() -> None:
    done = freehold("manifests", *ARGUMENTS.split())
    assert done.returncode == 0, done.stderr
    assert list(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)) == build_objects(GIVEN)


def test_every_option_of_the_table_is_tried() -> None:
    defaults = InstallOptions()
    same = {row.field for row in ROWS if getattr(GIVEN, row.field) == getattr(defaults, row.field)}
    assert same == {"webhook"}  # without it there is nothing for cert-manager


def test_files_for_clusterctl_are_written_and_named(tmp_path: Path) -> None:
    done = freehold("manifests", "--clusterctl", str(tmp_path / "new"), "--replicas", "3")
    assert done.returncode == 0, done.stderr
    written = [Path(line) for line in done.stdout.splitlines()]
    assert sorted(written) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    (components,) = [path for path in written if path.name == "infrastructure-components.yaml"]
    assert "replicas: 3\n" in components.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--replicas 0", "--replicas is 0: expected a number from 1 to 100"),
        ("--shards 0", "--shards is 0: expected a number from 1 to 256"),
        ("--replicas two", "'two' is not a valid integer"),
        ("--feature-gates Fly=true", "--feature-gates is Fly=true: expected NAME=true or NAME=false, of "),
        ("--feature-gates EKSEnableIAM=maybe", "--feature-gates is EKSEnableIAM=maybe"),
        ("--feature-gates EKSEnableIAM", "'EKSEnableIAM' is not NAME=true or NAME=false"),
        ("--providers aws,gcp", "--providers is aws,gcp: expected one or more of aws, ibm"),
        ("--namespace Bad_One", "--namespace is 'Bad_One': expected the name of a namespace"),
        ("--credentials gcp=x", "--credentials is "),
        ("--egress-ports 443,https", "--egress-ports is 443,https: expected numbers of TCP ports"),
        ("--no-webhook --cert-manager", "--cert-manager is for the certificate of the webhook"),
    ],
)
def test_options_that_cannot_be_are_told_with_what_can(arguments: str, said: str) -> None:
    done = freehold("manifests", *arguments.split())
    assert done.returncode == 2
    assert said in done.stderr
    assert "see freehold manifests --help" in done.stderr
    assert done.stdout == ""


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = freehold("manifests", "--clusterctl", str(tmp_path / "file" / "below"))
    assert done.returncode == 1
    assert f"--clusterctl {tmp_path / 'file' / 'below'} cannot be written: " in done.stderr


@pytest.mark.parametrize("value", ["-x", "a b", "x" * 64])
def test_operator_refuses_the_filter_that_an_installation_refuses(value: str) -> None:
    for command in ("manifests", "operator"):
        done = freehold(command, f"--watch-filter={value}")
        assert done.returncode == 2
        assert f"--watch-filter is {value!r}: expected a value of a label" in done.stderr
