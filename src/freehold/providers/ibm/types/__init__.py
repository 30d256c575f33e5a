"""Types of the Kubernetes API on IBM Cloud beside those of a kind of object: the object for tags."""
