"""Credentials that renew themselves, tested with real plugins and real files."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from freehold.kube import auth
from freehold.kube.errors import ConfigError, Unauthorized

V1, V1BETA1 = auth.EXEC_VERSIONS


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., auth.ExecPlugin]:
    """A plugin that counts its runs in ``runs`` and prints the content of ``answer``, or fails."""

    def make(version: str = V1, **options: object) -> auth.ExecPlugin:
        script = tmp_path / "plugin"
        script.write_text(
            f"#!{sys.executable}\n"
            "import os, sys, pathlib\n"
            f"here = pathlib.Path({str(tmp_path)!r})\n"
            "with (here / 'runs').open('a') as runs: runs.write(os.environ['KUBERNETES_EXEC_INFO'] + '\\n')\n"
            "count = len((here / 'runs').read_text().splitlines())\n"
            "if (here / 'broken').exists(): sys.exit('the sso session has ended')\n"
            "print((here / 'answer').read_text().replace('COUNT', str(count)))\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return auth.ExecPlugin(str(script), (), {}, version, **options)  # type: ignore[arg-type]  # options vary by test

    return make


def answer(folder: Path, version: str = V1, **status: str) -> None:
    (folder / "answer").write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))


def runs(folder: Path) -> list[dict[str, object]]:
    return [json.loads(each) for each in (folder / "runs").read_text().splitlines()]


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_sixteen_first_uses_run_the_plugin_once(
    version: str, plugin: Callable[..., auth.ExecPlugin], tmp_path: Path
) -> None:
    """Another client ran it 16 times and opened 16 browser windows."""
    answer(tmp_path, version, token="t-COUNT")
    source = auth.build_plugin_credential(plugin(version))
    found = await asyncio.gather(*(source.get() for _ in range(16)))
    assert {each.authorization for each in found} == {"Bearer t-1"}
    assert len(runs(tmp_path)) == 1
    assert runs(tmp_path)[0]["apiVersion"] == version


async def test_sixteen_refusals_run_it_once_more(plugin: Callable[..., auth.ExecPlugin], tmp_path: Path) -> None:
    answer(tmp_path, token="t-COUNT")
    source = auth.build_plugin_credential(plugin())
    used = await source.get()

    async def refused() -> auth.Credential:
        source.invalidate(used)
        return await source.get()

    found = await asyncio.gather(*(refused() for _ in range(16)))
    assert {each.authorization for each in found} == {"Bearer t-2"}
    assert len(runs(tmp_path)) == 2


async def test_renewed_a_minute_before_expiry(plugin: Callable[..., auth.ExecPlugin], tmp_path: Path) -> None:
    clock = [1_700_000_000.0]
    answer(tmp_path, token="t-COUNT", expirationTimestamp="2023-11-14T22:23:20Z")  # clock + 600 s
    source = auth.build_plugin_credential(plugin(), now=lambda: clock[0])
    assert (await source.get()).authorization == "Bearer t-1"
    clock[0] += 539
    assert (await source.get()).authorization == "Bearer t-1"
    clock[0] += 2
    assert (await source.get()).authorization == "Bearer t-2"


async def test_broken_plugin_keeps_the_old_credential(
    plugin: Callable[..., auth.ExecPlugin], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    answer(tmp_path, token="s3cret-COUNT")
    source = auth.build_plugin_credential(plugin())
    old = await source.get()
    (tmp_path / "broken").touch()
    source.invalidate(old)
    assert await source.get() is old
    source.invalidate(old)
    assert await source.get() is old
    assert len(runs(tmp_path)) == 2, "not run for every request"
    assert "the sso session has ended" in caplog.text and "s3cret" not in caplog.text


async def test_a_plugin_that_never_worked_is_reported_with_the_reason(
    plugin: Callable[..., auth.ExecPlugin], tmp_path: Path
) -> None:
    (tmp_path / "broken").touch()
    with pytest.raises(Unauthorized, match="the sso session has ended"):
        await auth.build_plugin_credential(plugin()).get()


async def test_missing_plugin_gives_the_hint() -> None:
    missing = auth.ExecPlugin("no-such-plugin-here", (), {}, V1, install_hint="Install it with brew.")
    with pytest.raises(Unauthorized, match=r"no-such-plugin-here.*Install it with brew\."):
        await auth.build_plugin_credential(missing).get()


@pytest.mark.parametrize("text", ["", "secret-garbage", '{"status": null}', "[]", '{"kind": "ExecCredential"}'])
async def test_the_output_of_a_plugin_is_never_shown(
    text: str, plugin: Callable[..., auth.ExecPlugin], tmp_path: Path
) -> None:
    (tmp_path / "answer").write_text(text)
    with pytest.raises(Unauthorized, match="no ExecCredential") as caught:
        await plugin().run()
    assert "secret" not in str(caught.value)


async def test_answer_of_another_version_is_refused(plugin: Callable[..., auth.ExecPlugin], tmp_path: Path) -> None:
    answer(tmp_path, V1BETA1, token="t")
    with pytest.raises(ConfigError, match="v1beta1"):
        await plugin(V1).run()


async def test_plugin_may_give_a_certificate(plugin: Callable[..., auth.ExecPlugin], tmp_path: Path) -> None:
    answer(tmp_path, clientCertificateData="CERT", clientKeyData="KEY")
    found = await plugin(cluster={"server": "https://x"}).run()
    assert found.certificate == (b"CERT", b"KEY") and found.authorization == ""
    assert runs(tmp_path)[0]["spec"] == {"interactive": False, "cluster": {"server": "https://x"}}


async def test_token_file_is_read_again(tmp_path: Path) -> None:
    """Projected service account tokens rotate; a trailing newline must not reach the header."""
    clock = [0.0]
    token = tmp_path / "token"
    token.write_text("one\n")
    source = auth.build_file_credential(token, now=lambda: clock[0])
    first = await source.get()
    assert first.authorization == "Bearer one"
    token.write_text("two\n")
    assert (await source.get()).authorization == "Bearer one"
    clock[0] += 61
    assert (await source.get()).authorization == "Bearer two"
    token.write_text("three")
    source.invalidate(first)
    assert (await source.get()).authorization == "Bearer two", "a refusal of an older token says nothing"
    source.invalidate(await source.get())
    assert (await source.get()).authorization == "Bearer three"


@pytest.mark.parametrize("how", ["empty", "gone"])
async def test_token_file_in_rotation_keeps_the_old_token(how: str, tmp_path: Path) -> None:
    clock = [0.0]
    token = tmp_path / "token"
    token.write_text("one")
    source = auth.build_file_credential(token, now=lambda: clock[0])
    await source.get()
    token.write_text("") if how == "empty" else token.unlink()
    clock[0] += 61
    assert (await source.get()).authorization == "Bearer one"
    token.write_text("two")
    clock[0] += 11
    assert (await source.get()).authorization == "Bearer two"


async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request would wait for it."""
    monkeypatch.setattr(auth, "PLUGIN_SECONDS", 0.1)
    hanging = auth.ExecPlugin(sys.executable, ("-c", "import time; time.sleep(3600)"), {}, V1)
    async with asyncio.timeout(5):
        with pytest.raises(Unauthorized, match="did not finish within"):
            await hanging.run()
