"""What Kubernetes' controllers leave on AWS: one file a kind of leftovers, listed in :data:`survey.COLLECTORS`."""
