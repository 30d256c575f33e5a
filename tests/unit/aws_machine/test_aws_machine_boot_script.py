"""The boot script of a machine, run under a shell with stand-ins for ``aws``, ``curl``, ``sleep`` and cloud-init."""

from __future__ import annotations

import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from freehold.engine.secret_values import find_references
from freehold.providers.aws.machine.bootstrap import BootstrapFields, BootstrapPlan, describe_secret, plan_bootstrap

UUID = "6b1f3c52-0000-4000-8000-000000000001"
TOKEN = "abcdef.0123456789abcdef"
DATA = f"## template: jinja\n#cloud-config\nruncmd:\n- kubeadm join --token {TOKEN}\n# ".encode()
DATA += random.Random(1).randbytes(9_000).hex().encode()

_AWS = r"""#!/bin/sh
# Secrets are files of $CLOUD/<region>; $CLOUD/faults has a line for each call that fails, and why.
echo "aws $*" >>"$CLOUD/calls"
[ "$1" = secretsmanager ] || exit 2
operation=$2; shift 2
while [ $# -gt 0 ]; do
  case $1 in
  --region) region=$2; shift ;;
  --secret-id) name=$2; shift ;;
  --force-delete-without-recovery) force=yes ;;
  esac
  shift
done
fault=$(grep -m 1 "^$operation " "$CLOUD/faults" 2>/dev/null)
if [ -n "$fault" ]; then
  case $fault in
  *always) fault=${fault% always} ;;
  *) sed -i "0,/^$operation /{/^$operation /d}" "$CLOUD/faults" ;;
  esac
  echo "An error occurred (${fault#* }) when calling $operation" >&2
  exit 254
fi
file=$CLOUD/$region/$(echo "$name" | tr / _)
if [ ! -f "$file" ]; then
  echo "An error occurred (ResourceNotFoundException) when calling $operation" >&2
  exit 254
fi
case $operation in
get-secret-value) base64 -w 0 "$file"; echo ;;
delete-secret) [ "$force" = yes ] && rm "$file" ;;
esac
"""
_CURL = r"""#!/bin/sh
echo "curl $*" >>"$CLOUD/calls"
case "$*" in
*-X\ PUT*latest/api/token*) cat "$CLOUD/imds-token" 2>/dev/null || { echo "curl: (28) timed out" >&2; exit 28; } ;;
*"X-aws-ec2-metadata-token: imds"*placement/region*) cat "$CLOUD/region" ;;
*) echo "curl: (22) 401" >&2; exit 22 ;;
esac
"""
_SLEEP = '#!/bin/sh\necho "sleep $1" >>"$CLOUD/calls"\n'
_STAGES = """
import os

class _Source:
    userdata_raw = userdata = "the script itself"

class Init:
    def read_cfg(self): self.read = True
    def fetch(self, existing): assert self.read and existing == "trust"; self.datasource = _Source()
    def update(self): assert self.datasource.userdata is None; self.updated = self.datasource.userdata_raw
    def consume_data(self, frequency):
        assert self.updated == self.datasource.userdata_raw
        with open(os.environ["CLOUD"] + "/ran", "ab") as file:
            file.write(frequency.encode() + b" " + self.updated + b"\\n")

class Modules:
    def __init__(self, init): assert init.updated
    def run_section(self, name):
        assert name == "cloud_init_modules"
        return [], ["write_files"] if os.path.exists(os.environ["CLOUD"] + "/module-fails") else []
"""


class Machine:
    """A machine that boots with the user data of a plan, and the secrets of its region."""

    def __init__(self, path: Path, shell: str) -> None:
        self.shell, self.cloud, self.store = shell, path / "cloud", path / "store"
        self.bin, package = path / "bin", path / "python" / "cloudinit"
        for each in (self.cloud / "eu-west-1", self.cloud / "us-east-1", self.bin, package):
            each.mkdir(parents=True)
        self._programs({"aws": _AWS, "curl": _CURL, "sleep": _SLEEP, "cloud-init": f"#!{sys.executable} -s\n"})
        (package / "__init__.py").write_text("")
        (package / "settings.py").write_text('PER_ALWAYS, PER_INSTANCE = "always", "once-per-instance"\n')
        (package / "stages.py").write_text(_STAGES)
        (self.cloud / "imds-token").write_text("imds")
        (self.cloud / "region").write_text("eu-west-1")
        plan = plan_bootstrap(BootstrapFields(), describe_secret("boot", DATA), UUID)
        assert isinstance(plan, BootstrapPlan) and isinstance(plan.user_data, str)
        (self.script,) = yaml.safe_load(plan.user_data)["bootcmd"]
        self.secrets = {
            str(one.request["name"]): find_references(one.request)[0].transform(DATA) for one in plan.secrets
        }
        self.put("eu-west-1")

    def _programs(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def put(self, region: str) -> None:
        for name, value in self.secrets.items():
            self._file(region, name).write_bytes(value)

    def _file(self, region: str, name: str) -> Path:
        return self.cloud / region / name.replace("/", "_")

    def lose(self, index: int) -> None:
        self._file("eu-west-1", list(self.secrets)[index]).unlink()

    def fail(self, *faults: str) -> None:
        (self.cloud / "faults").write_text("".join(f"{fault}\n" for fault in faults))

    def boot(self) -> subprocess.CompletedProcess[str]:
        (self.cloud / "calls").write_text("")
        environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin", "CLOUD": str(self.cloud), "FREEHOLD_STORE": str(self.store),
            "PYTHONPATH": str(self.bin.parent / "python"), "AWS_DEFAULT_REGION": "us-east-1",
        }  # fmt: skip
        done = subprocess.run(
            [self.shell, "-c", self.script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert TOKEN not in done.stdout + done.stderr + "".join(self.calls), "what it prints is in a log"
        return done

    @property
    def calls(self) -> list[str]:
        return (self.cloud / "calls").read_text().splitlines()

    @property
    def asked(self) -> list[str]:
        return [call.split()[2] for call in self.calls if call.startswith("aws")]

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in (self.cloud / "eu-west-1").iterdir())

    @property
    def ran(self) -> list[tuple[str, bytes]]:
        """How often, and with what, cloud-init took user data."""
        path = self.cloud / "ran"
        lines = path.read_bytes().split(DATA + b"\n") if path.exists() else []
        return [(each.decode().strip(), DATA) for each in lines if each]

    @property
    def files(self) -> dict[str, str]:
        return {path.name: stat.filemode(path.stat().st_mode) for path in self.store.iterdir()}


@pytest.fixture(params=["sh", "bash"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    return Machine(tmp_path, str(shutil.which(request.param)))


def test_the_data_run_in_the_same_boot_and_the_secrets_go(machine: Machine) -> None:
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    assert machine.ran == [("once-per-instance", DATA)]
    assert machine.asked == ["get-secret-value"] * 2 + ["delete-secret"] * 2
    assert not machine.left
    assert list(machine.files.values()) == ["-rw-------"]


def test_a_second_boot_asks_nobody_and_hands_the_data_over_again(machine: Machine) -> None:
    """Cloud-init has the script as its user data again, and what runs at each boot may be among the data."""
    machine.boot()
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    assert machine.calls == []
    assert machine.ran == [("once-per-instance", DATA), ("always", DATA)]


@pytest.mark.parametrize(
    "fault", ["TimeoutError", "AccessDeniedException", "ResourceNotFoundException", "ThrottlingException"]
)
def test_what_is_not_there_yet_is_waited_for(machine: Machine, fault: str) -> None:
    """After a start the network, the credentials, or what their role may do can take a minute."""
    machine.fail(*[f"get-secret-value {fault}"] * 3)
    done = machine.boot()
    assert done.returncode == 0, done.stderr
    assert machine.ran and not machine.left
    assert [call for call in machine.calls if call.startswith("sleep")] == ["sleep 1", "sleep 2", "sleep 3"]
    assert fault in done.stderr


def test_who_is_denied_for_good_is_told_what_must_be_allowed(machine: Machine) -> None:
    machine.fail("get-secret-value AccessDeniedException always")
    done = machine.boot()
    assert done.returncode == 1 and not machine.ran
    assert "AccessDeniedException" in done.stderr and "secretsmanager:GetSecretValue" in done.stderr
    assert len(machine.asked) == 30
    assert len(machine.left) == 2 and not machine.files


def test_a_missing_piece_is_named_and_nothing_runs_or_goes(machine: Machine) -> None:
    machine.lose(1)
    done = machine.boot()
    assert done.returncode == 1 and not machine.ran
    assert f"cannot read secret {list(machine.secrets)[1]} in eu-west-1" in done.stderr
    assert len(machine.left) == 1 and "delete-secret" not in machine.asked and not machine.files


def test_the_region_is_the_machines_own(machine: Machine) -> None:
    """Whatever the image or the environment say, and with secrets of the same names elsewhere."""
    machine.put("us-east-1")
    assert machine.boot().returncode == 0
    assert all("--region eu-west-1" in call for call in machine.calls if call.startswith("aws"))
    assert not machine.left and len(list((machine.cloud / "us-east-1").iterdir())) == 2


def test_the_wrong_region_has_no_secrets(machine: Machine) -> None:
    (machine.cloud / "region").write_text("us-east-1")
    done = machine.boot()
    assert done.returncode == 1 and "in us-east-1: An error occurred (ResourceNotFoundException)" in done.stderr
    assert len(machine.left) == 2


@pytest.mark.parametrize("missing", ["imds-token", "region"])
def test_without_a_region_nothing_is_asked(machine: Machine, missing: str) -> None:
    (machine.cloud / missing).unlink() if missing == "imds-token" else (machine.cloud / missing).write_text("")
    done = machine.boot()
    assert done.returncode == 1 and "does not say the region" in done.stderr
    assert not machine.asked and not machine.ran


@pytest.mark.parametrize(
    ("piece", "said"), [(b"x", "bytes in place of"), (b"", "another SHA-256")], ids=["length", "digest"]
)
def test_other_data_do_not_run(machine: Machine, piece: bytes, said: str) -> None:
    path = machine._file("eu-west-1", next(iter(machine.secrets)))
    path.write_bytes(path.read_bytes()[:-1] + b"\0" + piece)
    done = machine.boot()
    assert done.returncode == 1 and said in done.stderr
    assert not machine.ran and len(machine.left) == 2 and not machine.files


def test_a_refused_delete_is_told_and_the_data_run(machine: Machine) -> None:
    """The operator deletes what is left when the machine has its node."""
    machine.fail("delete-secret AccessDeniedException always")
    done = machine.boot()
    assert done.returncode == 0 and machine.ran
    assert "is not deleted" in done.stderr and len(machine.left) == 2


def test_an_image_without_the_aws_cli_is_told(machine: Machine) -> None:
    (machine.bin / "aws").unlink()
    done = machine.boot()
    assert done.returncode == 1 and "no AWS CLI" in done.stderr


def test_data_of_which_cloud_init_cannot_run_a_part_fail_the_boot(machine: Machine) -> None:
    """So that ``cloud-init status`` says it."""
    (machine.cloud / "module-fails").touch()
    done = machine.boot()
    assert done.returncode == 1 and "could not run all" in done.stderr


def test_an_image_made_of_a_machine_does_not_run_the_data_of_that(machine: Machine) -> None:
    """The file is called by its digest."""
    machine.store.mkdir()
    (machine.store / ("0" * 64)).write_text("the data of another machine")
    assert machine.boot().returncode == 0
    assert machine.ran == [("once-per-instance", DATA)]
