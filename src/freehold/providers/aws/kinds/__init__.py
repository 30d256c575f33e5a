"""Kinds of resources on AWS: one file each with its driver and its ``Kind``; ``registry.py`` above lists them."""
