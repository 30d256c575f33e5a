"""Leftovers of Kubernetes' controllers on AWS: one file for each kind, listed in :data:`survey.COLLECTORS`."""
