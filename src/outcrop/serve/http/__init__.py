"""HTTP: the routes, what guards them, and the OpenAPI that describes them."""
