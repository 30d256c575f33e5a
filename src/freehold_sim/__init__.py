"""Simulated clouds that the vendors' own SDKs can talk to: in-process or over HTTP, on a clock of our own.

Shares no code with `freehold`. Importing this package imports no SDK, no HTTP library and no moto.
"""
