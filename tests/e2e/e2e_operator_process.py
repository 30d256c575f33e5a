"""Runs the operator as a process of its own: ``python e2e_operator_process.py OPTIONS``, JSON of ServeOptions.

Logs to standard error; prints ``started`` when it serves, and ends gracefully at SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys

from e2e_operator_lab import ServeOptions

from freehold.controllers.app import Operator
from freehold.controllers.logs import LogOptions, set_up_logs


async def serve(wish: ServeOptions) -> None:
    operator = Operator(wish.settings())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, operator.stop)
    print("started", flush=True)
    await operator.run()


if __name__ == "__main__":
    set_up_logs(LogOptions("debug"), [logging.StreamHandler()])
    asyncio.run(serve(ServeOptions(**json.loads(sys.argv[1]))))
