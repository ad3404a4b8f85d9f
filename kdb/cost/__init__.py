"""Limit the processor time that requests of strangers may take: middleware.CostMiddleware, called for every request.

budget limits one request; what takes longer deferral leaves to a worker, answered 202 until the answer is there;
spending counts what each address, network and user had in the last minute.
"""
