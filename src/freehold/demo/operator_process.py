"""``freehold`` as a process that ends when its standard input does: with the demo, however that ends."""

import os
import signal
import sys
import threading

from freehold.cli.main import main


def _end_with_the_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    main()
