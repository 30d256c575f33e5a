"""Types of the Kubernetes API that Freehold serves: models, names, conditions. Only data and pure functions.

``names``, ``annotations``, ``conditions``, ``patterns`` and ``placeholders`` import no pydantic.
"""
