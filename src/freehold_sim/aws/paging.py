"""Pages of a list: after the row that the token names, as many as asked for or as the settings allow."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TypeVar

from freehold_sim.aws.call import Call

Row = TypeVar("Row")


class BadToken(Exception):
    """A token that this simulator did not make."""


def page(call: Call, rows: list[tuple[int, Row]], token: str | None, size: int | None) -> tuple[list[Row], str]:
    """Return the rows of one page and the token of the next ("" at the end); each row comes with its serial.

    Raises BadToken.
    """
    after = _after(token)
    rest = [row for row in rows if row[0] > after]
    size = size or len(rest)
    size = min(size, call.settings.page_size or size)
    if len(rest) <= size:
        return [row for _, row in rest], ""
    return [row for _, row in rest[:size]], urlsafe_b64encode(f"after:{rest[size - 1][0]}".encode()).decode()


def _after(token: str | None) -> int:
    if not token:
        return 0
    try:
        word, _, serial = urlsafe_b64decode(token.encode()).decode().partition(":")
        if word != "after":
            raise BadToken
        return int(serial)
    except ValueError:
        raise BadToken from None
