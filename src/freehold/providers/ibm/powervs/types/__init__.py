"""Types of IBMPowerVSCluster: spec, status, the rules of its schema, its CRD."""
