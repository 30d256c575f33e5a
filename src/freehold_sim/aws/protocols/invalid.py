"""What can be wrong with a request, before a service looks at it."""

from enum import StrEnum


class Wrong(StrEnum):
    """The kinds of mistake that a service model can tell; each service has its own error code for each."""

    UNKNOWN = "unknown parameter"
    MISSING = "missing parameter"
    TYPE = "wrong type"
    LENGTH = "wrong length"
    VALUE = "value that is not allowed"


class Invalid(Exception):
    """A parameter that contradicts the input shape. `path` names it as the request does."""

    def __init__(self, wrong: Wrong, path: str, detail: str = "") -> None:
        self.wrong = wrong
        self.path = path.rstrip(".")
        super().__init__(f"{wrong}: {self.path} {detail}".strip())
        self.detail = detail
