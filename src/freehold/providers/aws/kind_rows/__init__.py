"""The rows of the table of kinds (kind_facts), by service."""
