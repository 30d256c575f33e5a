"""IBMPowerVSCluster: spec and facts to wanted nodes, outcomes to status."""
