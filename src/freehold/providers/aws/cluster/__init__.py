"""AWSCluster: from a spec to what is wanted. Pure."""
