"""Scalars as text: timestamps in the three formats of AWS, booleans and numbers."""

from base64 import b64decode
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime

from freehold_sim.aws.protocols.invalid import Invalid, Wrong


def timestamp(seconds: float, form: str) -> str:
    """Return an epoch time as `iso8601` (with milliseconds), `rfc822` or `unixTimestamp`."""
    if form == "rfc822":
        return formatdate(seconds, usegmt=True)
    if form == "unixTimestamp":
        return str(round(seconds, 3))
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def to_timestamp(text: str, path: str) -> float:
    """Return epoch seconds; raises Invalid for text in none of the three formats."""
    try:
        return float(text)
    except ValueError:
        pass
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(text).timestamp()
        except ValueError:
            continue
    raise Invalid(Wrong.TYPE, path, f"{text} is not a timestamp")


def to_bytes(text: str, path: str) -> bytes:
    """Return the bytes of a base64 text; raises Invalid for other text."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Invalid(Wrong.TYPE, path, "is not base64") from None


def to_scalar(kind: str, text: str, path: str) -> str | int | float | bool | bytes:
    """Return the value of a scalar of the shape type `kind`; raises Invalid if the text has another type."""
    match kind:
        case "boolean":
            if text not in {"true", "false"}:
                raise Invalid(Wrong.TYPE, path, f"{text} is not a boolean")
            return text == "true"
        case "integer" | "long":
            try:
                return int(text)
            except ValueError:
                raise Invalid(Wrong.TYPE, path, f"{text} is not an integer") from None
        case "float" | "double":
            try:
                return float(text)
            except ValueError:
                raise Invalid(Wrong.TYPE, path, f"{text} is not a number") from None
        case "timestamp":
            return to_timestamp(text, path)
        case "blob":
            return to_bytes(text, path)
        case _:
            return text


def from_scalar(kind: str, value: object, form: str = "iso8601") -> str:
    """Return the text of a scalar of the shape type `kind`."""
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "timestamp":
        return timestamp(float(str(value)), form)
    return str(value)
