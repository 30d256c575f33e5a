"""Counts and ratios, never timed tests: ``make bench`` prints one table and writes ``results.json``."""
