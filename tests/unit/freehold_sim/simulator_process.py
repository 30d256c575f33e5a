"""The simulator as a process of its own, for the tests of this folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ibm_vpc
import requests
from ibm_cloud_sdk_core.authenticators import IAMAuthenticator

from harness.forks import Program


class Process:
    """One `python -m freehold_sim`; it prints its address in its first line of output."""

    def __init__(self, state: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "freehold_sim", "--state", str(state), "--speed", "30", *arguments]
        self.child = Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.child.stdout is not None
        self.url = json.loads(self.child.stdout.readline())["url"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return requests.request(method, f"{self.url}/_sim/{path}", json=body, timeout=60).json()

    def vpc(self) -> Any:
        service = ibm_vpc.VpcV1(authenticator=IAMAuthenticator("simulated-api-key", url=f"{self.url}/iam"))
        service.set_service_url(f"{self.url}/vpc/us-south/v1")
        return service

    def advance(self, seconds: float) -> None:
        self.ask("POST", "clock", {"advance": seconds})

    def end(self, number: int) -> int:
        if self.child.poll() is None:
            os.kill(self.child.pid, number)
        code = self.child.wait(timeout=60)
        for stream in (self.child.stdout, self.child.stderr):
            assert stream is not None
            stream.close()
        return code
