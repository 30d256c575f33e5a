"""AWSCluster: from a spec and facts to wanted nodes, and from outcomes to a status. Pure but for the adapter."""
