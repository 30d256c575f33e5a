"""Decisions of the metadata controller: which tags belong on which resource, and by which calls.

Pure: values in, values out. Reading and writing tags is the business of ``clouds``, composing of ``operator``.
The readings that are built here are the rows of docs/reference/metadata-compat.md.
"""
