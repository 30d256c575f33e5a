"""The metadata controller: the tags of resources that nobody here owns, kept as CloudMetadata asks for."""
