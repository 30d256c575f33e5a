"""Kubernetes objects as commands name, read, apply, follow and decide about them."""
