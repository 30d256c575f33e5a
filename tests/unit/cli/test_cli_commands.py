"""Errors of commands: one sentence and an exit code, never a traceback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

import pytest
import requests
import yaml

from harness.commands import PROGRAM, freehold
from harness.forks import Program
from harness.metadata import EXAMPLES as METADATA_EXAMPLES

EXAMPLES = Path(__file__).parents[3] / "examples"
MINIMAL = str(EXAMPLES / "powervs-minimal.yaml")

KUBECONFIG = str(Path(__file__).with_name("nobody.kubeconfig"))
"""Of a cluster that is not there."""


GATE = "BootstrapFormatIgnition=true"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["frobnicate"], 2, "No such command 'frobnicate'; see freehold --help"),
        (["apply", "-f", "x"], 2, "No such command 'apply': freehold up -f FILE applies a manifest, and waits"),
        (["destroy"], 2, "No such command 'destroy': freehold down NAME deletes an object"),
        (["plna"], 2, "No such command 'plna'. Did you mean 'plan'?; see freehold --help"),
        (["logs", "--kubeconfig", "k"], 1, "it runs: kubectl --kubeconfig k logs -n NAMESPACE POD --follow"),
        (["up"], 2, "Missing option '-f' / '--filename'; see freehold up --help"),
        (["up", "-f", "none.yaml"], 1, "none.yaml cannot be read: No such file or directory"),
        (["up", "-f", MINIMAL, "--simulate", "--kubeconfig", "x"], 2, "--simulate and --kubeconfig exclude each other"),
        (
            ["up", "-f", MINIMAL, "--feature-gates=BootstrapFormat=true"],
            2,
            "there is no feature gate 'BootstrapFormat'",
        ),
        (["up", "-f", MINIMAL, "--feature-gates", GATE, "--kubeconfig", "x"], 2, "operator in the cluster has its own"),
        (["serve", "--feature-gates", "BootstrapFormatIgnition"], 2, "is not NAME=true or NAME=false"),
        (["serve", "--gc-selector", "team in red"], 2, "'team in red' is no label requirement; write for example"),
        (["operator", "--gc-selector", ""], 2, "it is empty (an unset variable?)"),
        (["up", "-f", MINIMAL, "--gc-selector=a", "--kubeconfig", "x"], 2, "operator in the cluster has its own"),
        (["gc", "enable"], 2, "Missing option '--cluster-name'; see freehold gc enable --help"),
        (["operator", "--sync-period", "10s"], 2, "it is shorter than 30s: choose at least 30s ('10s')"),
        (["serve", "--sync-period", "ten"], 2, "it is not a duration: write it like 10m or 1h30m ('ten')"),
        (["serve", "--approve-above", "-1"], 2, "-1 is not in the range x>=0"),
        (["down"], 2, "say what to delete: freehold down NAME, or freehold down -f FILE"),
        (["down", "a", "-f", "b"], 2, "say what to delete"),
        (["plan"], 2, "say what to plan: freehold plan -f FILE, or freehold plan --down NAME"),
        (["plan", "--down", "a", "-f", "b", "--detailed-exitcode"], 1, "say what to plan"),
        (["plan", "--detailed-exitcode", "--bogus"], 1, "No such option '--bogus'"),
        (["plan", "--down", ""], 2, "it is empty"),
        (["plan", "-f", MINIMAL, "--kubeconfig", KUBECONFIG], 1, "http://127.0.0.1:9 cannot be reached"),
        (["plan", "-f", MINIMAL, "--simulator", "http://127.0.0.1:9"], 2, "go with --kubeconfig"),
        (["tree"], 2, "say what to show: freehold tree NAME, or freehold tree -f FILE"),
        (["tree", "a", "-f", "b"], 2, "say what to show"),
        (["tree", "-f", "none.yaml"], 1, "none.yaml cannot be read: No such file or directory"),
        (["tree", "a", "--simulate", "--kubeconfig", "x"], 2, "--simulate and --kubeconfig exclude each other"),
        (
            ["tree", ""],
            2,
            "Invalid value for '[KIND] [NAME]...': it is empty (an unset variable?); see freehold tree --help",
        ),
        (["get", "ns", ""], 2, "it is empty (an unset variable?)"),
        (["down", "a", "--kubeconfig", ""], 2, "Invalid value for '--kubeconfig': it is empty"),
        (["down", "a", "--state", ""], 2, "Invalid value for '--state': it is empty"),
        (["up", "-f", ""], 2, "it is empty"),
        (["get", "--state", "/dev/null/x"], 1, "cannot be used: Not a directory; choose another one with --state DIR"),
        (["get", "--kubeconfig", KUBECONFIG], 1, "http://127.0.0.1:9 cannot be reached: Connection refused"),
        (["get", "--kubeconfig", "/none"], 1, "no kubeconfig with a current-context at /none"),
        (["serve", "--port", "70000"], 2, "70000 is not in the range 0<=x<=65535"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_misuse_is_one_sentence(arguments: list[str], code: int, sentence: str, tmp_path: Path) -> None:
    done = freehold(*arguments, FREEHOLD_STATE=str(tmp_path))
    assert done.returncode == code
    assert sentence in done.stderr
    assert done.stderr.startswith("freehold: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_feature_gate_that_changes_nothing_is_accepted_with_a_notice(tmp_path: Path) -> None:
    gates = "AlternativeGCStrategy=true,ExternalResourceGC=true"
    done = freehold("up", "-f", "none.yaml", "--feature-gates", gates, FREEHOLD_STATE=str(tmp_path))
    first, last = done.stderr.splitlines()
    assert first.startswith("feature gate AlternativeGCStrategy is accepted and changes nothing: ")
    assert last.startswith("freehold: none.yaml cannot be read")


@pytest.mark.parametrize("command", ["up", "plan", "serve", "operator"])
def test_help_names_every_field_that_a_feature_gate_turns_on(command: str) -> None:
    """On both clouds."""
    said = " ".join(freehold(command, "--help").stdout.split())
    assert "BootstrapFormatIgnition (acts on the field of a cluster for object storage, spec.cosInstance or" in said
    assert "spec.s3Bucket; off by default)" in said


def test_an_operator_starts_without_the_credentials_of_a_cloud_and_says_which_objects_miss_them() -> None:
    """The objects of one cloud are no reason to leave those of another one alone."""
    done = freehold("operator", "--kubeconfig", KUBECONFIG, HOME="/none")
    without = "FREEHOLD_IBM_PROFILE with a token file): its objects will say NoCredentials"
    assert f"no credentials for IBM Cloud (IBMCLOUD_API_KEY, or {without}" in done.stderr
    assert "no credentials for AWS in variables or files" in done.stderr
    assert done.stderr.endswith("http://127.0.0.1:9 cannot be reached: Connection refused\n")


def test_interrupted_is_distinguished_from_failed(tmp_path: Path) -> None:
    """A script must know that somebody pressed Ctrl-C, and must not treat it as success."""
    command = [*PROGRAM, "up", "-f", MINIMAL, "--simulate", "--state", str(tmp_path)]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert "state in" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=240)
    assert running.returncode == 130
    assert "interrupted; nothing is lost" in said


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_the_version_is_shown_by_option_and_by_command(arguments: list[str]) -> None:
    assert freehold(*arguments).stdout == f"freehold {version('freehold')}\n"


def test_without_a_command_help_is_shown_without_an_error() -> None:
    done = freehold()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: freehold")
    assert "Exit codes: 0 done; 1 not done, and why; 2 wrong usage; 130 interrupted." in done.stderr


def test_the_shell_completes_commands_and_files() -> None:
    script = freehold("completion", "bash").stdout
    assert "complete -o nosort -F _freehold_completion freehold" in script

    def asked(words: str, index: int) -> list[str]:
        env = {"_FREEHOLD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(index)}
        return freehold(**env).stdout.split()

    assert asked("freehold u", 1) == ["plain,up"]
    assert asked("freehold up -f ", 3) == ["file,"]


def test_a_namespace_that_contradicts_the_manifest_is_refused(tmp_path: Path) -> None:
    """`down -n test -f FILE` must not delete objects that the file has in another namespace."""
    for command in ("up", "down", "plan"):
        done = freehold(command, "-f", MINIMAL, "-n", "other", "--simulate", "--state", str(tmp_path / command))
        assert done.returncode == 1
        assert "-n other contradicts the manifest" in done.stderr
        assert "IBMPowerVSCluster minimal: metadata.namespace is default" in done.stderr


@pytest.mark.parametrize("command", (["down", "a"], ["plan", "--down", "a"], ["prune", "a"]))
def test_an_advised_command_has_the_namespace(command: list[str], tmp_path: Path) -> None:
    """Copied without it, the command would look at another namespace."""
    world = ("--simulate", "--state", str(tmp_path))
    assert (
        f"; freehold get --state {tmp_path} -n kube-system shows"
        in freehold(*command, "-n", "kube-system", *world).stderr
    )
    assert f"; freehold get --state {tmp_path} shows" in freehold(*command, *world).stderr


def test_up_in_a_mistyped_namespace_names_the_option_that_creates_it(tmp_path: Path) -> None:
    manifest = Path(MINIMAL).read_text().replace("namespace: default", "namespace: tpyo")
    world = ("-f", "-", "--simulate", "--state", str(tmp_path))
    done = freehold("up", *world, stdin=manifest)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "there is no namespace tpyo; --create-namespace makes it" in done.stderr
    planned = freehold("plan", *world, stdin=manifest)
    advice = f"freehold up --state {tmp_path} -f - --simulate --create-namespace"
    assert planned.stderr == f"there is no namespace tpyo; this is planned as if there were. To make it: {advice}\n"
    assert "to create" in planned.stdout


def test_a_plan_of_tags_alone_is_what_tags_plan_says_and_beside_clusters_names_that_command(tmp_path: Path) -> None:
    tags, world = str(EXAMPLES / "cluster-tags.yaml"), ("--simulate", "--state", str(tmp_path))
    done = freehold("plan", "-f", tags, *world)
    assert done.returncode == 0
    assert done.stdout.startswith("CloudMetadata default/minimal: 0 resources found, none to change")
    both = freehold("plan", "-f", tags, "-f", MINIMAL, *world)
    assert both.stdout.startswith("IBMPowerVSCluster default/minimal: ")
    command = f"freehold tags plan --state {tmp_path} -f {tags} -f {MINIMAL} --simulate"
    assert both.stderr == f"not planned here: CloudMetadata, AWSMetadata; what becomes of tags: {command}\n"
    again = freehold(*command.split()[1:])
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr


def test_only_the_owner_can_read_the_state_also_in_a_directory_open_to_all(tmp_path: Path) -> None:
    """Secrets are stored as they were applied."""
    tmp_path.chmod(0o755)
    assert freehold("get", "--state", str(tmp_path)).returncode == 0
    assert {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if path.stat().st_mode & 0o077} == {}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_not_reported_as_a_defect(tmp_path: Path) -> None:
    command = [*PROGRAM, "get", "--state", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert "No space left on device; make room" in done.stderr
    assert "defect" not in done.stderr


def test_an_outage_is_retried_and_requires_no_action(tmp_path: Path) -> None:
    """Otherwise a person would search for an error in the manifest, which may have none."""
    dark = {"IBMCLOUD_API_KEY": "a-key-that-nobody-sees", "HTTPS_PROXY": "http://127.0.0.1:9"}
    command = [*PROGRAM, "up", "-f", MINIMAL, "--state", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Program(command, text=True, env={**os.environ, **dark}, **pipes) as running:
        assert running.stdout is not None
        said = list(takewhile(lambda line: "retrying: IBM Cloud did not answer" not in line, running.stdout))
        running.send_signal(signal.SIGINT)
        rest, complaint = running.communicate(timeout=60)
    assert running.returncode == 130, complaint
    assert "somebody must act" not in "".join([*said, rest, complaint])
    row = freehold("get", "--state", str(tmp_path)).stdout.splitlines()[1]
    assert "Progressing" in row and "retrying: IBM Cloud did not answer" in row
    planned = freehold("plan", "-f", MINIMAL, "--state", str(tmp_path), **dark)
    assert planned.returncode == 1
    assert "the plan is not known: the cloud could not be asked; run the same command again" in planned.stderr
    assert planned.stderr.count("IBM Cloud did not answer") == 1
    assert "would not become Ready" not in planned.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_is_omitted() -> None:
    """The logging module would print a traceback on the terminal for every lost line."""
    code = "import logging, pathlib; from freehold.cli.local.log_file import log_to; "
    code += "log_to(pathlib.Path('/dev/full')); logging.getLogger('freehold').warning('lost')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("debug", (False, True))
def test_the_log_has_each_look_only_where_that_is_asked_for(debug: bool, tmp_path: Path) -> None:
    """And never those of the vendors' SDKs, which would bury them."""
    code = "import logging, pathlib, sys; from freehold.cli.local.log_file import log_to; "
    code += "log_to(pathlib.Path(sys.argv[1])); "
    code += "logging.getLogger('freehold.engine.polling').debug('next look'); "
    code += "logging.getLogger('urllib3').debug('noise')"
    path = str(tmp_path / "log")
    environment = {**os.environ, "FREEHOLD_DEBUG": "1" if debug else ""}
    subprocess.run([sys.executable, "-c", code, path], capture_output=True, timeout=240, check=True, env=environment)
    log = (tmp_path / "log").read_text()
    assert ("next look" in log) is debug
    assert "noise" not in log


def test_without_credentials_nothing_is_started(tmp_path: Path) -> None:
    done = freehold("up", "-f", MINIMAL, "--state", str(tmp_path))
    assert done.returncode == 1
    assert "no credentials: set IBMCLOUD_API_KEY" in done.stderr
    assert "--simulate" in done.stderr
    assert not (tmp_path / "cloud.json").exists()


def test_reading_an_empty_state_is_not_an_error(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path))
    assert freehold("get", *state).stdout == "no clusters in namespace default\n"
    assert json.loads(freehold("get", *state, "-o", "json").stdout)["items"] == []
    found = yaml.safe_load(freehold("get", "ns", *state, "-o", "yaml").stdout)
    assert [each["metadata"]["name"] for each in found["items"]] == ["default", "kube-system"]


def test_the_error_for_an_unknown_name_lists_the_existing_ones(tmp_path: Path) -> None:
    done = freehold("tree", "x" * 200, "--state", str(tmp_path))
    assert done.returncode == 1
    assert "there is no cluster" in done.stderr
    assert "x" * 100 not in done.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = freehold("serve", "--simulate", "--state", str(tmp_path), "--port", port)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"freehold: port {port} on 127.0.0.1 cannot be used: Address already in use; choose another --port\n"
    )


@pytest.mark.parametrize("name", ["store.sqlite", "simulated-cloud.json", "cloud.json"])
def test_a_damaged_state_is_named_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "cloud.json").write_text('{"cloud": "simulated"}')
    (tmp_path / name).write_text("spoilt")
    done = freehold("up", "-f", MINIMAL, "--state", str(tmp_path))
    assert done.returncode == 1
    assert str(tmp_path / name) in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / name).read_text() == "spoilt"


def test_a_refused_manifest_leaves_nothing_behind(tmp_path: Path) -> None:
    manifest = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: half}\n---\n"
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: IBMPowerVSCluster\nmetadata: {name: bad}\n"
        "spec: {zone: 5, color: red}\n"
    )
    done = freehold("up", "-f", "-", "--simulate", "--state", str(tmp_path), stdin=manifest)
    assert done.returncode == 1
    assert "IBMPowerVSCluster default/bad: spec.color: unknown field" in done.stderr
    assert "IBMPowerVSCluster default/bad: spec.zone: " in done.stderr
    assert freehold("get", "configmaps", "--state", str(tmp_path)).stdout.startswith("no configmaps")


def test_an_unknown_zone_is_explained_and_can_be_corrected(tmp_path: Path) -> None:
    """The schema does not know zones: a condition reports it in one reconcile, and `up` ends with its message."""
    state = ("--state", str(tmp_path), "--speed", "300")
    misspelt = Path(MINIMAL).read_text().replace("dal10", '"\\e[31mdal99"')
    refused = freehold("up", "-f", "-", "--simulate", *state, stdin=misspelt)
    assert refused.returncode == 1 and "spec.zone" in refused.stderr, "the schema knows how a zone is written"
    unknown = Path(MINIMAL).read_text().replace("dal10", "dal99")
    done = freehold("up", "-f", "-", "--simulate", *state, stdin=unknown)
    assert done.returncode == 1
    assert "somebody must act" in done.stderr
    assert "spec.zone: there is no PowerVS zone" in done.stderr
    assert "\x1b" not in "".join((refused.stdout, refused.stderr, done.stdout, done.stderr))
    heads, row = freehold("get", "--state", str(tmp_path)).stdout.splitlines()
    assert heads.split()[-1] == "NOTE"
    assert "blocked: spec.zone: there is no PowerVS zone" in row
    events = json.loads(freehold("get", "events", "--state", str(tmp_path), "-o", "json").stdout)["items"]
    ages = [time.time() - datetime.fromisoformat(each["lastTimestamp"]).timestamp() for each in events]
    assert ages and max(map(abs, ages)) < 600, "kubectl tells ages by its own clock, and old events are swept by ours"
    assert freehold("down", "minimal", "--yes", *state).returncode == 0
    assert freehold("get", "--state", str(tmp_path)).stdout.startswith("no clusters")


def test_the_exit_code_of_a_plan_shows_whether_anything_would_change(tmp_path: Path) -> None:
    """0 nothing to do, 2 changes, 1 anything else: for scripts, as in Terraform."""
    world = ("--state", str(tmp_path), "--simulate", "--speed", "2000")
    full = str(EXAMPLES / "powervs-create-infra.yaml")
    ask = ("plan", *world, "-o", "json", "--detailed-exitcode")
    first = freehold(*ask, "-f", full)
    assert (first.returncode, first.stderr) == (2, "")
    assert {row["action"] for row in json.loads(first.stdout)[0]["resources"]} == {"create", "add part"}
    assert freehold("up", *world, "-f", full).returncode == 0
    assert freehold(*ask, "-f", full).returncode == 0
    last = freehold(*ask, "--down", "freehold-demo")
    assert last.returncode == 2
    assert {row["action"] for row in json.loads(last.stdout)[0]["resources"]} == {"delete"}
    assert freehold(*ask, "--down", "nobody").returncode == 1


def test_a_crd_that_somebody_deletes_is_put_back_and_said(tmp_path: Path) -> None:
    name = "ibmpowervsclusters.infrastructure.cluster.x-k8s.io"
    command = [*PROGRAM, "serve", "--simulate", "--state", str(tmp_path)]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        assert served.stdout and served.stderr
        try:
            while not served.stdout.readline().startswith("log "):
                assert served.poll() is None
            config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
            url = config["clusters"][0]["cluster"]["server"]
            crd = f"{url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
            before = requests.get(crd, timeout=60).json()
            requests.delete(crd, timeout=60).raise_for_status()
            said = served.stderr.readline()
            after = requests.get(crd, timeout=60).json()
        finally:
            served.send_signal(signal.SIGINT)
    assert said.startswith(f"CRD {name} was deleted, and its objects with it; it is put back")
    assert after["metadata"]["uid"] != before["metadata"]["uid"] and after["spec"] == before["spec"]
    world = ("--state", str(tmp_path), "--simulate", "--speed", "2000")
    assert freehold("up", "-f", MINIMAL, *world).returncode == 0, "the kind is served again"


def test_up_says_who_works_on_metadata_objects(tmp_path: Path) -> None:
    """This command ends before a tag is written; an operator has to run."""
    manifest = tmp_path / "metadata.yaml"
    manifest.write_text(METADATA_EXAMPLES)
    done = freehold("up", "-f", str(manifest), "--simulate", "--create-namespace", "--state", str(tmp_path / "state"))
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "or an operator runs: CloudMetadata created, AWSMetadata created" in said
    assert "not served by Freehold" not in said
