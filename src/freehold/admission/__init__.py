"""Admission: refuses a wrong object when it is applied, by the functions that the reconciler would refuse it with.

- ``webhook_configuration.py`` is what the API server is told: which objects it asks about, and which it never does.
"""
