"""AWSManagedControlPlane: the control plane of a cluster, run by EKS."""
