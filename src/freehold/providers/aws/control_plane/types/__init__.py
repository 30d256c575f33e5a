"""Types of AWSManagedControlPlane: spec, status, fields, CRD."""
