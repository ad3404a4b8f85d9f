"""The frame of the REST API under /api/v1/; every room has its own views in a module `api`.

In: requests, whose JSON bodies are checked here (bodies, faults). Out: JSON or CSV (formats), pages of lists
(pagination), errors of one shape (errors), and the OpenAPI document (schema, shapes). Open `urls` first, then `public`.
"""
