"""One process serves any simulated clouds: one clock, one admin API, one state file, each loaded when asked for."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from freehold_sim.__main__ import settings_of
from freehold_sim.clock import Clock
from freehold_sim.faults import FaultBook
from freehold_sim.http import Request, Response
from freehold_sim.server import Options, Server
from freehold_sim.simulated import CLOUDS, LoggedCall


class Kiosk:
    """A cloud that counts its visitors, and opens after a minute."""

    def __init__(self, clock: Clock, settings: Mapping[str, Any], seed: int) -> None:
        self.clock, self.settings = clock, settings
        self.calls: list[LoggedCall] = []
        self.touched = False
        self._state: dict[str, Any] = {"visitors": 0, "opens": clock.now() + 60.0, "open": False, "faults": []}

    @property
    def faults(self) -> FaultBook:
        return FaultBook(self._state["faults"])

    def handle(self, request: Request) -> Response:
        self._state["visitors"] += 1
        self.calls.append(
            LoggedCall(1, self.clock.now(), "kiosk.visit", request.method, request.path, 200, True, "api")
        )
        self.touched = True
        return Response(200, request.path.encode())

    def settle(self) -> None:
        self._state["open"] = self.clock.now() >= self._state["opens"]

    def state(self) -> Mapping[str, Any]:
        return self._state

    def resume(self, state: Mapping[str, Any], calls: Sequence[LoggedCall]) -> None:
        self._state, self.calls = dict(state), list(calls)

    def resources(self) -> list[dict[str, Any]]:
        return [{"kind": "kiosk", "visitors": self._state["visitors"], "open": self._state["open"]}]

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        raise ValueError(f"nobody can {verb} a kiosk")


MAKERS = {**CLOUDS, "kiosk": Kiosk}


def _served(path: Path, **options: Any) -> Server:
    return Server(Options(**{"clouds": ("ibm", "kiosk"), "speed": 0.0, "state": path, **options}), MAKERS)


def _ask(server: Server, method: str, path: str, body: Any = None, **query: str) -> Any:
    answer = server.answer(Request(method, path, query, {}, json.dumps(body).encode() if body is not None else b""))
    return answer.json() if path.startswith("/_sim/") else answer


def test_each_path_reaches_its_cloud(tmp_path: Path) -> None:
    """The first one has the root too, for clients that take only a host."""
    server = _served(tmp_path / "world.json")
    assert _ask(server, "GET", "/kiosk/a/b").body == b"/a/b"
    assert _ask(server, "GET", "/vpc/us-south/v1/vpcs").status == 401, "the vendor's answer without a token"
    assert _ask(server, "GET", "/ibm/vpc/us-south/v1/vpcs").status == 401
    alone = _served(tmp_path / "alone.json", clouds=("kiosk",))
    assert [_ask(alone, "GET", path).body for path in ("/a", "/kiosk/a")] == [b"/a", b"/a"]
    assert _ask(alone, "GET", "/ibm/vpc/us-south/v1/vpcs").status == 401
    assert [call["operation"] for call in _ask(server, "GET", "/_sim/calls", cloud="kiosk")["calls"]] == ["kiosk.visit"]
    assert list(_ask(server, "GET", "/_sim/calls")["by_operation"]) == ["vpc.list_vpcs"]


def test_one_clock_moves_all(tmp_path: Path) -> None:
    server = _served(tmp_path / "world.json")
    made = {"kind": "vpc", "region": "us-south", "name": "theirs"}
    assert _ask(server, "POST", "/_sim/strangers/make", made)["name"] == "theirs"
    _ask(server, "POST", "/_sim/clock", {"advance": 61})
    assert _ask(server, "GET", "/_sim/resources", cloud="kiosk")["resources"][0]["open"] is True
    assert [row["name"] for row in _ask(server, "GET", "/_sim/resources")["resources"] if row["kind"] == "vpc"] == [
        "theirs"
    ]


def test_a_restart_goes_on_with_every_cloud(tmp_path: Path) -> None:
    path = tmp_path / "world.json"
    server = _served(path)
    _ask(server, "GET", "/kiosk/")
    _ask(server, "POST", "/_sim/faults", {"effect": "throttle", "operation": "vpc.*"})
    again = _served(path)
    assert _ask(again, "GET", "/_sim/resources", cloud="kiosk")["resources"][0]["visitors"] == 1
    assert len(_ask(again, "GET", "/_sim/faults")["faults"]) == 1
    assert _ask(again, "GET", "/_sim/faults", cloud="kiosk")["faults"] == []


def test_text_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    """JSON of a request can name half a surrogate pair."""
    path, fault = tmp_path / "world.json", {"effect": "slow", "operation": "*", "contains": "half \ud800 é"}
    _ask(_served(path), "POST", "/_sim/faults", fault)
    [kept] = _served(path).clouds["ibm"].state()["faults"]
    assert kept["rule"]["contains"] == fault["contains"]


def test_a_cloud_is_not_lost_because_nobody_names_it(tmp_path: Path) -> None:
    """The next save would write the file without it."""
    path = tmp_path / "world.json"
    _ask(_served(path), "GET", "/kiosk/")
    again = _served(path, clouds=("ibm",))
    assert _ask(again, "GET", "/_sim/resources", cloud="kiosk")["resources"][0]["visitors"] == 1
    with pytest.raises(ValueError, match="contains kiosk, which this version does not serve"):
        Server(Options(state=path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clouds": ("nimbus",)}, "unknown cloud nimbus; supported: ibm, aws, kiosk"),
        ({"settings": {"nimbus": {}}}, "unknown cloud nimbus"),
    ],
)
def test_an_unknown_cloud_is_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _served(tmp_path / "world.json", **options)


def test_settings_are_the_clouds_own(tmp_path: Path) -> None:
    server = _served(tmp_path / "world.json", settings={"kiosk": {"colour": "red"}})
    kiosk = server.clouds["kiosk"]
    assert isinstance(kiosk, Kiosk)
    assert kiosk.settings == {"colour": "red"}
    with pytest.raises(TypeError):
        _served(tmp_path / "other.json", settings={"ibm": {"colour": "red"}})


def test_the_back_door_names_the_clouds_that_it_knows(tmp_path: Path) -> None:
    server = _served(tmp_path / "world.json")
    assert (
        "unknown cloud nimbus; this process serves ibm, kiosk, aws"
        in _ask(server, "GET", "/_sim/calls", cloud="nimbus")["error"]
    )
    assert "nobody can paint a kiosk" in _ask(server, "POST", "/_sim/strangers/paint", {}, cloud="kiosk")["error"]


def test_a_cloud_is_loaded_when_it_is_asked_for() -> None:
    """Who simulates one cloud does not pay for the libraries of another."""
    code = "import sys, freehold_sim.server; print([m for m in sys.modules if m.startswith('freehold_sim.ibm')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_cloud_may_wait_until_somebody_asks_for_it_and_is_kept_from_then_on(tmp_path: Path) -> None:
    """A command that needs one cloud starts as fast as if there were no other."""
    path = tmp_path / "world.json"
    server = _served(path, clouds=("ibm",))
    _ask(server, "POST", "/_sim/clock", {"advance": 1})
    assert list(server.clouds.loaded) == ["ibm"]
    assert _ask(server, "GET", "/kiosk/a").body == b"/a"
    again = _served(path, clouds=("ibm",))
    assert list(again.clouds.loaded) == ["ibm", "kiosk"]
    assert _ask(again, "GET", "/_sim/resources", cloud="kiosk")["resources"][0]["visitors"] == 1


def test_settings_of_a_cloud_that_waits_are_refused_at_once(tmp_path: Path) -> None:
    """Not when somebody asks for it, by an answer that looks like the cloud's."""
    with pytest.raises(TypeError):
        _served(tmp_path / "world.json", clouds=("kiosk",), settings={"ibm": {"colour": "red"}})


def test_a_file_of_settings_is_of_the_first_cloud_or_names_clouds(tmp_path: Path) -> None:
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    one.write_text('{"delays": {"scale": 2}}')
    many.write_text('{"ibm": {"delays": {"scale": 3}}, "aws": {"delays": {"scale": 4}}}')
    assert settings_of([str(one)], "ibm") == {"ibm": {"delays": {"scale": 2}}}
    assert settings_of([f"aws={one}"], "ibm") == {"aws": {"delays": {"scale": 2}}}
    assert settings_of([str(many)], "ibm") == {"ibm": {"delays": {"scale": 3}}, "aws": {"delays": {"scale": 4}}}
