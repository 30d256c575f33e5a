"""`freehold down` asks a person who is there, and nobody else."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import yaml

from freehold.cli.commands import down
from freehold.cli.commands.down import _delete_and_wait, _show_deletion
from freehold.cli.local.access import Access, ServeOptions
from freehold.cli.local.serving_address import kubeconfig
from freehold.cli.local.session import open_session
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.objects.kinds import OURS
from freehold.controllers.owner_cluster import CLUSTERS
from freehold.kube.client import KubeClient
from freehold.kube.errors import Forbidden
from freehold.kube.resources import Key
from harness.commands import freehold
from harness.serving import served
from harness.terminals import freehold_on_terminal

MINIMAL = (Path(__file__).parents[3] / "examples" / "powervs-minimal.yaml").read_text()
QUESTION = "[y/N]"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """A state with the cluster ``minimal``, and ``second`` and ``third``, which own nothing: their zone is wrong.

    It is served: a command that joins starts in a third of the time.
    """
    path = tmp_path_factory.mktemp("state")
    options = ("--state", str(path), "--simulate")
    with served(StateDirectory.open(path), ServeOptions(simulate=True, speed=300.0)):
        assert freehold("up", "-f", "-", *options, stdin=MINIMAL).returncode == 0
        wrong = MINIMAL.replace("dal10", "dal99")
        two = "\n---\n".join(wrong.replace("name: minimal", f"name: {name}") for name in ("second", "third"))
        assert freehold("up", "-f", "-", *options, stdin=two).returncode == 1
        yield options


def _names(world: tuple[str, ...]) -> list[str]:
    return [each.rpartition("/")[2] for each in freehold("get", "-o", "name", *world[:2]).stdout.split()]


@pytest.mark.parametrize("answer", ["\n", "n\n", "\x04"], ids=["enter", "no", "end of input"])
def test_on_a_terminal_the_plan_is_shown_and_without_a_yes_nothing_is_deleted(
    world: tuple[str, ...], answer: str
) -> None:
    shown = freehold_on_terminal("down", "minimal", *world, typed=answer, after=QUESTION)
    assert shown.code == 1
    assert "default/minimal: 10 to delete" in shown.text
    assert "ours by its marks" in shown.text
    assert "Delete IBMPowerVSCluster default/minimal? [y/N]" in shown.text
    assert "nothing was deleted" in shown.text
    assert "minimal" in _names(world)


@pytest.mark.parametrize("redirected", ["| cat", "> log 2>&1", "< /dev/null", "< answers"])
def test_wherever_output_goes_the_question_is_asked_on_the_terminal(
    world: tuple[str, ...], tmp_path: Path, redirected: str
) -> None:
    """A log that is kept takes nobody's question away, and the yes of a pipe is nobody's answer."""
    (tmp_path / "answers").write_text("y\n")
    end, pipe = os.pipe()
    with (
        os.fdopen(end, "rb") as shown_by_cat, os.fdopen(pipe, "wb") as to_cat, (tmp_path / "log").open("wb") as log,
        (tmp_path / "answers").open("rb") as answers, Path("/dev/null").open("rb") as null,
    ):  # fmt: skip
        streams: dict[str, dict[str, IO[bytes]]] = {
            "| cat": {"stdout": to_cat},
            "> log 2>&1": {"stdout": log, "stderr": log},
            "< /dev/null": {"stdin": null},
            "< answers": {"stdin": answers},
        }
        shown = freehold_on_terminal(
            "down", "minimal", *world, typed="n\n", after=QUESTION, redirected=streams[redirected]
        )
        to_cat.close()
        text = shown.text + shown_by_cat.read().decode() + (tmp_path / "log").read_text()
    assert "Delete IBMPowerVSCluster default/minimal? [y/N]" in shown.text
    assert "default/minimal: 10 to delete" in text
    assert "minimal" in _names(world)


def test_interrupting_the_question_deletes_nothing(world: tuple[str, ...]) -> None:
    shown = freehold_on_terminal("down", "minimal", *world, typed="\x03", after=QUESTION)
    assert shown.code == 130
    assert "minimal" in _names(world)


def test_yes_deletes_and_several_names_are_deleted_together(world: tuple[str, ...]) -> None:
    shown = freehold_on_terminal("down", "minimal", *world, typed="y\n", after=QUESTION)
    assert shown.code == 0, shown.text
    assert _names(world) == ["second", "third"]
    refused = freehold("down", "second", "nobody", "third", "--yes", *world)
    assert refused.returncode == 1
    assert f"no cluster default/nobody; freehold get --state {world[1]} shows what there is" in refused.stderr
    assert _names(world) == ["second", "third"], "where one is not there, nothing is deleted"
    assert freehold("down", "second", "third", "--yes", *world).returncode == 0
    assert _names(world) == []


def test_with_yes_nothing_is_asked_on_a_terminal_either(world: tuple[str, ...]) -> None:
    assert freehold("up", "-f", "-", *world, stdin=MINIMAL).returncode == 0
    shown = freehold_on_terminal("down", "minimal", "--yes", *world)
    assert shown.code == 0, shown.text
    assert QUESTION not in shown.text


def test_nothing_is_asked_about_what_is_not_there(world: tuple[str, ...]) -> None:
    absent = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nobody}\n---\n" + MINIMAL.replace(": minimal", ": none")
    told = freehold("down", "-f", "-", *world, stdin=absent)
    assert told.returncode == 0, told.stderr
    assert "IBMPowerVSCluster default/none: not there" in told.stdout and "ConfigMap" not in told.stdout


@pytest.fixture(name="reached")
def _reached(client: KubeClient, tmp_path: Path) -> Access:
    """The way of a command to the server of ``client``."""
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig(client.connection.server))
    return Access(None, ServeOptions(), str(config))


async def test_what_stays_of_the_same_cluster_is_told_in_the_end(
    client: KubeClient, reached: Access, capsys: pytest.CaptureFixture[str]
) -> None:
    await client.create(OURS[0], yaml.safe_load(MINIMAL))
    cluster = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": "c", "namespace": "default"}}
    reference = {"apiGroup": OURS[0].group, "kind": OURS[0].kind, "name": "minimal"}
    await client.create(CLUSTERS, {**cluster, "spec": {"infrastructureRef": reference}})
    await _delete_and_wait(reached, ["minimal"], [], "", 5.0, yes=True)
    told = capsys.readouterr().out
    assert "IBMPowerVSCluster default/minimal: deleted; no operator had begun to work on it" in told
    assert told.endswith("(freehold down -f FILE deletes what the file holds):\n  Cluster default/c\n")


async def test_where_no_plan_can_be_made_what_the_status_says_is_shown(
    client: KubeClient, reached: Access, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --kubeconfig the operator's key ring or the account's key may not be here."""
    cluster = yaml.safe_load(MINIMAL)
    await client.create(OURS[0], cluster)
    key = Key("default", "minimal")
    row = {"kind": "vpc", "name": "v", "id": "r006-1", "state": "Ready", "ownership": "managed"}
    given = {"kind": "vpc", "name": "w", "id": "r006-2", "state": "Ready", "ownership": "unmanaged"}
    await client.patch(OURS[0], key, {"status": {"resources": [row, given]}}, subresource="status")
    async with open_session(reached) as session:
        assert await _show_deletion(session, reached, [(OURS[0], key)]) == ["IBMPowerVSCluster default/minimal"]
    shown = capsys.readouterr()
    assert "there is no key ring that this command can read" in shown.err
    assert "r006-1" in shown.out and "r006-2" not in shown.out


async def test_what_a_person_may_not_read_keeps_nobody_from_deleting(
    client: KubeClient, reached: Access, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan reads more than the delete, such as the identities that an object names."""

    async def forbidden(*_: object) -> None:
        raise Forbidden("identities are forbidden", code=403)

    monkeypatch.setattr(down, "_show_plans", forbidden)
    await client.create(OURS[0], yaml.safe_load(MINIMAL))
    async with open_session(reached) as session:
        shown = await _show_deletion(session, reached, [(OURS[0], Key("default", "minimal"))])
    assert shown == ["IBMPowerVSCluster default/minimal"]
    assert "is not known here (identities are forbidden)" in capsys.readouterr().err


def test_machines_that_are_only_kept_go_before_the_control_plane_that_waits_for_them(world: tuple[str, ...]) -> None:
    """Nobody else would delete them: the control plane would wait for ever."""
    group, version = "cluster.x-k8s.io", "v1beta2"
    pool = {"name": "pool", "labels": {f"{group}/cluster-name": "unborn"}}
    manifest = [
        {
            "apiVersion": f"controlplane.{group}/{version}", "kind": "AWSManagedControlPlane",
            "metadata": {"name": "unborn"}, "spec": {"region": "eu-central-1", "version": "v1.2"},
        },
        {"apiVersion": f"infrastructure.{group}/{version}", "kind": "AWSManagedMachinePool", "metadata": pool},
    ]  # fmt: skip
    text = yaml.safe_dump_all(manifest)
    made = freehold("up", "-f", "-", *world, stdin=text)
    assert made.returncode == 1 and "kept, not served by Freehold: AWSManagedMachinePool created" in made.stdout
    done = freehold("down", "-f", "-", "--yes", "--timeout", "30", *world, stdin=text)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.index("  AWSManagedMachinePool default/pool") < next(
        number for number, line in enumerate(lines) if "default/unborn is gone" in line
    )
