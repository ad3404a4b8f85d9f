"""Limit the processor time of anonymous requests: middleware.CostMiddleware is called for every request.

budget limits one request. deferral leaves those that take longer to a worker, and answers 202 until it has finished.
spending counts the processor time of each address, network and user in the last minute.
"""
