"""Types of AWSManagedCluster and of the template that Cluster API makes it of."""
