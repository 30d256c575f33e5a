"""The live page of one operator: its parts put together, and served beside the operator in its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from freehold import __version__
from freehold.controllers.observers import Observers
from freehold.controllers.process_server import Address
from freehold.controllers.settings import Settings
from freehold.kube.resources import Json, Resource
from freehold.kube.watch import ObjectChange
from freehold.page.api import CLOUD_METADATAS, PageApi, PageFacts
from freehold.page.assets import load_assets
from freehold.page.audit import AuditReader
from freehold.page.feed import Feed
from freehold.page.gate import Gate
from freehold.page.rows import Row, build_row
from freehold.page.server import PageServer
from freehold.page.source import ObjectSource, ServingOperator
from freehold.page.streams import Streams
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import Kinds
from freehold.tags.context import list_tag_resources
from freehold.tags.pass_summary import PassSummaries


class LivePage:
    """The page of one process: it observes from the beginning, and is served for a while."""
