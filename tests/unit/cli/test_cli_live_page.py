"""The live page of a state directory: a cluster is watched from its creation to its end, also over a restart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
import yaml

from freehold.cli.commands import serve
from freehold.cli.errors import CliError
from freehold.cli.local import serving_address
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.live_page import read_page_url
from freehold.cli.local.state_directory import StateDirectory
from freehold.kube.resources import key_of
from freehold.page.stored_object import object_key
from freehold.providers.registry import SERVED_RESOURCES
from harness.commands import PROGRAM, freehold, freehold_in
from harness.forks import Program
from harness.live_page import serve_live_page

EXAMPLE = Path(__file__).parents[3] / "examples" / "aws-cluster.yaml"
AWS_CLUSTERS = next(each for each in SERVED_RESOURCES if each.kind == "AWSCluster")
NAME = object_key("AWSCluster", *key_of(yaml.safe_load(EXAMPLE.read_text())))


def has_phase(phase: str) -> Any:
    return lambda rows: NAME in rows and rows[NAME]["phase"] == phase


async def test_a_cluster_is_watched_to_its_end_over_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with serve_live_page(state, speed=600.0, deep_every=60.0) as (page, client):
        session = await page.get("session")
        assert (session["everywhere"], session["simulated"], session["leads"]) == (True, True, True)
        await client.create(AWS_CLUSTERS, yaml.safe_load(EXAMPLE.read_text()))
        await page.watch_until(has_phase("Ready"))
        assert page.rows[NAME]["done"] == page.rows[NAME]["total"] > 3
        detail = await page.get(f"objects/{NAME}")
        assert (detail["history"]["operation"], detail["history"]["complete"]) == ("create", True)
        assert {each["state"] for each in detail["resources"]} == {"Ready"}
        vpc = find_vpc(detail)
        assert (vpc["proof"], vpc["drift"]) == ("own marks, read back; record signed", [])
        await asyncio.to_thread(change_vpc, json.loads((state / "server.lock").read_text())["simulator"], vpc["id"])
        await page.watch_until_heard(NAME, lambda detail: find_vpc(detail)["drift"])
        (drift,) = find_vpc(await page.get(f"objects/{NAME}"))["drift"]
        assert (drift["field"], drift["before"], drift["after"]) == ("enable_dns_hostnames", "false", "true")
        assert len((await page.get(f"objects/{NAME}/deletion"))["waves"]) > 1
        audit = await page.get(f"audit?object={NAME}")
        assert "ec2.modify_vpc_attribute" in [line["call"] for line in audit["lines"]]
        before = page
    async with serve_live_page(state) as (page, client):
        assert (page.address, page.token) == (before.address, before.token)
        async with page.request("stream?after=5") as answer:
            assert await answer.content.readline() == b"event: reset\n"
        await page.watch_until(has_phase("Ready"))
        await client.delete(AWS_CLUSTERS, key_of(yaml.safe_load(EXAMPLE.read_text())))
        await page.watch_until(lambda rows: NAME not in rows)
        async with page.request(f"objects/{NAME}") as answer:
            assert answer.status == 404


def find_vpc(detail: Any) -> Any:
    return next(each for each in detail["resources"] if each["kind"] == "vpc")


def change_vpc(simulator: str, vpc: str) -> None:
    """Change a VPC behind the operator's back."""
    ec2 = boto3.client(
        "ec2", "us-east-1", endpoint_url=f"{simulator}/aws", aws_access_key_id="AKIASIMULATED0000001",
        aws_secret_access_key="any",
    )  # fmt: skip
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": False})


async def test_the_address_is_read_from_the_state_directory(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path / "state")
    assert read_page_url(state) == "", "nobody has served it"
    async with serve_live_page(state.path) as (page, _):
        assert read_page_url(state) == f"{page.address}/#token={page.token}"


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with serve_live_page(tmp_path / "state") as (page, _):
        for path, sentence in (
            ("objects/Secret/default/x", "there is no kind 'Secret' on this page"),
            ("objects/AWSCluster/default/x", "there is no AWSCluster 'x' in namespace 'default'"),
            ("objects/AWSCluster/-/x/deletion", "there is no AWSCluster 'x' in no namespace"),
        ):
            async with page.request(path) as answer:
                assert (answer.status, (await answer.json())["problem"]) == (404, sentence)
        async with page.request(f"audit?text={'x' * 2000}") as answer:
            assert answer.status == 400


async def test_the_page_has_a_token_that_may_not_write(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with serve_live_page(state) as (page, client):
        assert page.token == (state / "page-token").read_text()
        assert (state / "page-token").stat().st_mode & 0o777 == 0o600
        headers = {"Authorization": f"Bearer {page.token}"}
        async with page.session.get(f"{client.connection.server}/api", headers=headers) as answer:
            assert answer.status == 401
        page.token = (state / "api-token").read_text()
        async with page.request("session") as answer:
            assert answer.status == 401


async def test_a_port_in_use_is_said_or_another_one_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CliError) as refused:
            async with serve_live_page(tmp_path / "one", page=port):
                pass
        assert str(refused.value) == (
            f"--page-port {port} on 127.0.0.1 cannot be used: Address already in use; choose another one or --no-page"
        )
        (tmp_path / "two").mkdir(mode=0o700)
        (tmp_path / "two" / "page-port").write_text(str(port))
        async with serve_live_page(tmp_path / "two") as (page, _):
            assert page.address != f"http://127.0.0.1:{port}"


def test_serve_prints_the_address_and_stops_while_somebody_looks(tmp_path: Path) -> None:
    """As a process of its own, for its signals."""
    state = tmp_path / "state"
    command = [*PROGRAM, "serve", "--simulate", "--state", str(state)]
    with Program(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            while not (line := process.stdout.readline()).startswith("  page "):
                assert line, "it ended"
            found = re.fullmatch(r"  page (http://127\.0\.0\.1:\d+)/#token=([-\w]{32,})\n", line)
            assert found
            address, token = found.groups()
            headers = {"Authorization": f"Bearer {token}"}
            with requests.get(f"{address}/api/stream", headers=headers, stream=True, timeout=120) as stream:
                lines = stream.iter_lines()
                assert next(lines) == b"event: reset"
                process.terminate()
                assert list(lines)[-1] == b""  # it ends in good order
            assert process.stdout.read().endswith("stopped; the state is kept, and the next command goes on\n")
            assert process.wait(120) == 0
        finally:
            process.kill()
    assert token not in (state / "freehold.log").read_text()


def test_a_page_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ServeOptions] = []
    monkeypatch.setattr(serve, "live_server", lambda directory, lock, options: asked.append(options) or _nobody())
    for number, more in enumerate(((), ("--no-page",), ("--page-port", "8090"))):
        freehold_in(tmp_path / str(number), "serve", "--simulate", *more)
    assert [each.page for each in asked] == [0, None, 8090]


@contextlib.asynccontextmanager
async def _nobody() -> Any:
    raise CliError("nobody serves here")
    yield


def test_the_operator_of_a_cluster_says_which_address_cannot_be_used(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(serving_address.kubeconfig("http://127.0.0.1:9"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = freehold("operator", "--kubeconfig", str(kubeconfig), "--page-address", address)
    assert ended.returncode == 1
    assert f"--page-address {address} cannot be used: Address already in use; choose another one" in ended.stderr
