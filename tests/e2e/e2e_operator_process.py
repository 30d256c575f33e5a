"""Runs the operator as a process of its own: ``python e2e_operator_process.py OPTIONS``, JSON of ServeOptions.

It imports nothing of the tests, which would cost more than the operator's own imports. Logs to standard error; prints
``started`` when it serves, and ends gracefully at SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from dataclasses import dataclass

import requests

from freehold.cli.local.credentials import access_of
from freehold.cli.local.simulator import limits_of
from freehold.controllers.app import Operator
from freehold.controllers.logs import LogOptions, set_up_logs
from freehold.controllers.settings import RingSecret, Settings
from freehold.engine.clock import SystemClock
from freehold.kube.config import load
from freehold.providers.ibm.access import IbmAccess

API_KEY = "simulated-api-key"
SPEED = 600.0
"""Simulated seconds in a second: a cluster is Ready in a few."""
_PATIENCE = 240.0


@dataclass(frozen=True)
class ServeOptions:
    """The options of an operator."""

    kubeconfig: str
    """The value of the variable KUBECONFIG."""

    cloud: str
    namespace: str
    cluster_api: str = "off"
    api_key: str = API_KEY
    keys_namespace: str = ""
    """Where the key ring is, under its usual name; in ``default``, under one of the namespace, if it is empty."""

    def settings(self) -> Settings:
        """Build the settings of ``freehold operator --simulator``: its rate limits count simulated seconds, too."""
        clock = self._clock()
        return Settings(
            kube=load({**os.environ, "KUBECONFIG": self.kubeconfig}),
            access={**access_of(self.cloud), "ibm": IbmAccess(key=self.api_key, url=f"{self.cloud}/ibm")},
            cluster_api=self.cluster_api,
            namespace=self.namespace,
            keys=RingSecret(self.keys_namespace)
            if self.keys_namespace
            else RingSecret("default", f"keys-of-{self.namespace}"),
            clock=clock,
            new_limits=lambda: limits_of(clock, self.cloud),
        )

    def _clock(self) -> SystemClock:
        """The cloud's domain clock, continued here; without a cloud, one of the same speed."""
        try:
            told = requests.get(f"{self.cloud}/_sim/clock", timeout=_PATIENCE).json()
        except requests.ConnectionError:
            return SystemClock(SPEED)
        return SystemClock(float(told["speed"]), (time.time(), float(told["now"])))


async def serve(wish: ServeOptions) -> None:
    operator = Operator(wish.settings())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, operator.stop)
    print("started", flush=True)
    await operator.run()


if __name__ == "__main__":
    set_up_logs(LogOptions("debug"), [logging.StreamHandler()])
    asyncio.run(serve(ServeOptions(**json.loads(sys.argv[1]))))
