"""Tags on AWS: our marks, CAPA's names, the tag API and each service's own calls, and the dialect for metadata."""
