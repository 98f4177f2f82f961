"""What only source code is asked: what relates to what, the map, the context for a request."""
