"""The AWS CLI, as its package has it, in one process for many commands: starting it takes longer than a command.

Run as a program it reads one command a line (a JSON list of words) and answers one line: [exit code, output, errors].
"""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
from typing import Any


class Cli:
    """The CLI with an endpoint, credentials and a region."""

    def __init__(self, url: str, key: str) -> None:
        environment = {
            **os.environ, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "x",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_PAGER": "", "AWS_MAX_ATTEMPTS": "1", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip

    def __call__(self, *words: str) -> Any:
        """Run a command; return its output from JSON, None if there is none. Raises AssertionError if it fails."""
        code, output, errors = self.run(*words)
        assert code == 0, f"aws {' '.join(words)}: {code} {errors}"
        return json.loads(output) if output.strip() else None

    def fails(self, *words: str) -> str:
        """Run a command that must fail; return what it says."""
        code, _, errors = self.run(*words)
        assert code != 0, f"aws {' '.join(words)} did not fail"
        return errors

    def run(self, *words: str) -> tuple[int, str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        code, output, errors = json.loads(self._process.stdout.readline())
        return int(code), str(output), str(errors)

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(timeout=10)


def main() -> None:
    """Answer commands until the input ends."""
    from awscli.clidriver import create_clidriver

    answers, driver = os.fdopen(os.dup(1), "w"), create_clidriver()  # a new driver reads the service models again
    driver.session.create_client = functools.cache(driver.session.create_client)  # a new one costs half of a command
    for line in sys.stdin:
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = driver.main(json.loads(line))
        print(json.dumps([code, output.getvalue(), errors.getvalue()]), file=answers, flush=True)


if __name__ == "__main__":
    main()
