"""Types of the Kubernetes API that Freehold serves: models, names, conditions. Data and pure functions only.

``names``, ``annotations``, ``conditions``, ``patterns`` and ``placeholders`` import no pydantic.
"""
