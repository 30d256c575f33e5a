"""Types of the Kubernetes API on AWS that several kinds of objects share, and those of identities and tags."""
