"""A table of quick checks as one test: pytest takes longer over a test than such a check does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def over_rows(names: str | tuple[str, ...], rows: Iterable[Any], ids: Iterable[object] | None = None) -> Any:
    """Do what ``pytest.mark.parametrize`` does, in one test: every row is checked, and each that fails is named.

    The rows share the test's fixtures: use it only where a check leaves nothing behind.
    """
    rows, taken = list(rows), {names} if isinstance(names, str) else {*names}
    named = list(zip(map(repr, rows) if ids is None else ids, rows, strict=True))
    assert named, "a table without rows checks nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), "nothing would await it"
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed: list[tuple[object, BaseException]] = []
            for name, row in named:
                values = {names: row} if isinstance(names, str) else dict(zip(names, row, strict=True))
                try:
                    test(**values, **fixtures)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    error.add_note(f"This is the row {name}")
                    failed.append((name, error))
            if failed:
                said = f"rows that fail: {', '.join(str(name) for name, _ in failed)}"
                raise BaseExceptionGroup(said, [error for _, error in failed])

        fixtures = [each for name, each in signature.parameters.items() if name not in taken]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]  # pytest asks a function for it
        return run

    return decorate
