"""The engine: creates once, marks what it created, deletes exactly what is proven to be owned.

Knows no cloud and no Kubernetes. Start at :mod:`freehold.engine.engine`.
"""
