"""AWSManagedCluster: the infrastructure of an EKS cluster for Cluster API. It shows what the control plane has."""
