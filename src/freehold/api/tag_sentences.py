"""Sentences about wrong tags of a metadata object, which the schema and the controller share.

So ``kubectl apply`` and a condition have the same text. The controller adds in brackets which key, value or character
it is (:mod:`freehold.tags.policy.validation`); a rule of the schema has a fixed text.
Source: docs/reference/metadata-compat.md#limits-and-legal-tags.
"""

from __future__ import annotations

from typing import Final

PROTECTED_KEY: Final = (
    "a key is protected, because collectors decide by it what to delete: no metadata object may change it"
)
UNKNOWN_OPCODE: Final = "an opcode is unknown: use one of add, update, delete"
NAMED_TWICE: Final = "a key is listed twice for deletion, with different values: any value would go. Name it once"
UNPARSABLE_DURATION: Final = "it is not a duration: write it like 10m or 1h30m"
SHORT_PERIOD: Final = "it is shorter than 30s: choose at least 30s"

AWS_CHARACTER: Final = (
    "a key or a value has a character in it that AWS does not allow: use letters, digits, spaces and any of "
    "_ . : / = + - @"
)
AWS_KEY_LENGTH: Final = "a key has 1 to 128 characters on AWS"
AWS_RESERVED_KEY: Final = "keys that begin with aws: are reserved by AWS; choose another"
AWS_RESERVED_VALUE: Final = "values that begin with aws: are reserved by AWS; choose another"

IBM_TAG: Final = "a key has letters, digits, spaces and _ - . and, with its value and the colon, at most 128 characters"
IBM_VALUE: Final = "a tag's value has letters, digits, spaces and _ - . : only"
IBM_OUTER_SPACE: Final = "no key and no value begins or ends with a space, which IBM Cloud takes off"
IBM_CASE_TWINS: Final = "two keys are the same on IBM Cloud, which knows no case: keep one"
