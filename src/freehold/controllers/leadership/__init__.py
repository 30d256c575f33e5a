"""Leadership: which of several operators acts on which object, by Leases of Kubernetes."""
