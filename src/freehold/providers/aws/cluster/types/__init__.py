"""Types of AWSCluster: spec, status, its fields that are acted on, its CRD."""
