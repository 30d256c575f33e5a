"""AWSMachine: one EC2 instance of a cluster."""
