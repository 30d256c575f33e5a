"""AWSManagedControlPlane: an EKS cluster with its network, its role, its addons and who may enter it."""
