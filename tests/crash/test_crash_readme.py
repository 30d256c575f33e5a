"""The first case of the README runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

(CODE,) = re.findall(r"```python\n(.*?)```", (Path(__file__).parent / "README.md").read_text(), re.DOTALL)
NAMES: dict[str, Any] = {}
exec(compile(CODE, "tests/crash/README.md", "exec"), NAMES)  # noqa: S102 - our own page


@pytest.mark.parametrize("name", [each for each in NAMES if each.startswith("test_")])
def test_the_first_case_runs_as_it_is_printed(name: str) -> None:
    NAMES[name]()
