"""The document of the REST API, out of the tables of routes and the types that they name."""
