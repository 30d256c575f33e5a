"""Simulated clouds that the vendors' own SDKs can talk to: in-process or over HTTP, on a simulated clock.

Shares no code with `freehold`. Importing this package imports no SDK, no HTTP library and no moto.
"""
