"""Simulated EC2: a file per family of resources.

`kinds`, `resources` and `describing` are what they share; `operations` lists all operations.
"""
