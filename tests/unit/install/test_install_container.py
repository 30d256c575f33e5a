"""The image: what the Dockerfile says, and its own steps run without a builder."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.image_build import ENVIRONMENT, ROOT, Image, Step, entrypoint, read_stages, user

VERSION = "0.1.0+g0123456789ab"
BUILD, FINAL = read_stages()


def _commands(stage: list[Step]) -> list[str]:
    return [step.rest for step in stage if step.word == "RUN"]


# -- what it says -------------------------------------------------------------------------------------------------


def test_the_image_runs_as_a_user_without_rights_and_needs_no_shell() -> None:
    assert min(user(FINAL)) > 0
    assert entrypoint(FINAL) == [f"{ENVIRONMENT}/bin/freehold", "operator"]
    assert {step.word for step in FINAL} == {"FROM", "ARG", "LABEL", "COPY", "ENV", "USER", "ENTRYPOINT"}


def test_all_that_is_fetched_is_fetched_by_its_hash() -> None:
    """Nothing else may ask an index: neither a build of a wheel, nor the install of our own."""
    for command in _commands(BUILD):
        if " -m pip " in command:
            assert "--require-hashes" in command or "--no-index" in command, command
            assert " wheel " not in command or "--no-build-isolation" in command, command
        assert "://" not in command and "--index" not in command.replace("--no-index", ""), command
    for name in re.findall(r"requirements/\S+\.txt", "\n".join(_commands(BUILD))):
        pins = re.split(r"\n(?=\S)", (ROOT / name).read_text(encoding="utf-8"))
        assert [pin for pin in pins if pin.strip() and not pin.startswith("#") and "--hash=sha256:" not in pin] == []


def test_what_is_copied_is_there_and_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied = {source for step in BUILD if step.word == "COPY" for source in step.rest.split()[:-1]}
    assert copied == sent and "*" in lines
    assert all((ROOT / each).exists() for each in copied)


# -- its steps ----------------------------------------------------------------------------------------------------


@pytest.fixture
def image() -> Iterator[Image]:
    """An empty folder that any user may look into."""
    folder = Path(mkdtemp(prefix="freehold-image-"))
    folder.chmod(0o755)
    made = Image(folder)
    for each in ("/src", "/opt"):
        made.place(each).mkdir()
    yield made
    made.unseal()
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def _build(image: Image, *, fetch: bool) -> None:
    """Run the build stage. Without ``fetch``, the packages of this environment are what would be fetched."""
    if not fetch:
        image.place("/opt/build").symlink_to(sys.prefix)
    for step in BUILD:
        if step.word == "COPY":
            image.copy(step)
        elif step.word == "RUN" and (
            fetch or not ("--require-hashes" in step.rest or step.rest.endswith("/opt/build"))
        ):
            image.run(step, {"VERSION": VERSION})
            if not fetch and step.rest.endswith(ENVIRONMENT):
                _lend_packages(image)


def _lend_packages(image: Image) -> None:
    [site] = image.place(ENVIRONMENT).glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")


async def _serve_from(image: Image) -> None:
    """Start the operator of the image, by its entry point, on a tree that nobody may write to."""
    image.seal()
    program, command = entrypoint(FINAL)
    shown = subprocess.run(
        image.command(program, "--version"), env=image.environment(), capture_output=True, text=True, check=False
    )
    assert shown.stdout == f"freehold {VERSION}\n", shown.stderr
    store = Store.open(":memory:")
    server = ApiServer(store, token="t")
    url = await server.start()
    kubeconfig = image.folder.with_suffix(".kubeconfig")
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": url.replace("//", "//e:t@")}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        ),
        encoding="utf-8",
    )
    try:
        words = image.command(program, command, "--kubeconfig", str(kubeconfig))
        process = await asyncio.create_subprocess_exec(
            *words, env=image.environment(KUBERNETES_SERVICE_HOST="127.0.0.1"), cwd="/",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, said = await asyncio.wait_for(process.communicate(), 120)
    finally:
        kubeconfig.unlink()
        await server.stop()
        store.close()
    assert process.returncode == 1
    assert "apply deploy/crds first" in said.decode(), "it came as far as it can without CRDs"
    assert "Traceback" not in said.decode()


async def test_the_operator_starts_from_a_tree_that_it_may_only_read(image: Image) -> None:
    """The steps of the Dockerfile, but for those that fetch packages."""
    _build(image, fetch=False)
    components = json.loads(image.place(f"{ENVIRONMENT}/sbom.cdx.json").read_text(encoding="utf-8"))
    assert components["bomFormat"] == "CycloneDX"
    await _serve_from(image)


@pytest.mark.slow
async def test_the_image_is_built_from_what_is_pinned(image: Image) -> None:
    """All steps: what is fetched, what is built of it, and nothing of this environment."""
    _build(image, fetch=True)
    bill = json.loads(image.place(f"{ENVIRONMENT}/sbom.cdx.json").read_text(encoding="utf-8"))
    pinned = re.findall(
        r"^([\w-]+)==(\S+)", (ROOT / "requirements/runtime.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = {(each["name"].lower().replace("_", "-"), each["version"]) for each in bill["components"]}
    here = {(name, version) for name, version in pinned if name != "colorama"}  # of Windows
    assert here <= listed and len(listed) <= len(here) + 1
    await _serve_from(image)
