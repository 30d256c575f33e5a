"""AWSManagedControlPlane: from a spec and facts to wanted nodes, and to a status. Pure but for the adapter."""
