"""Thin Kubernetes client: connection, requests, list + watch. Only ``client`` and ``watch`` import aiohttp."""
