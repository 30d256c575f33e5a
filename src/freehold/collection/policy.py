"""Stub."""

from __future__ import annotations
from dataclasses import dataclass
from freehold.collection.found import Volumes
from freehold.collection.things import Task


@dataclass(frozen=True)
class Collect:
    tasks: tuple[Task, ...]
    volumes: Volumes
    source: str


@dataclass(frozen=True)
class Skip:
    reason: str
    message: str


@dataclass(frozen=True)
class Unreadable:
    message: str


Policy = Collect | Skip | Unreadable
