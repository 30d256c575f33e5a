"""Kinds of resources on IBM Cloud: one file each with its driver and its ``Kind``; ``registry.py`` above lists them."""
