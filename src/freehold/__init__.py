"""Freehold: the cloud resources behind Kubernetes clusters."""

__version__ = "0.1.0"
"""The released version; the build of an image adds the commit (Makefile)."""
