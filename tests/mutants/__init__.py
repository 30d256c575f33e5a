"""Careless edits of safety lines, each tried on a copy of the sources: the tests must fail without the line."""
