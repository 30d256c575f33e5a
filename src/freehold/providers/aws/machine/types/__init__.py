"""The types of AWSMachine, and of the templates that Cluster API copies machines and clusters from."""
