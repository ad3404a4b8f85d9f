"""Accounts of people and programs: signing in, second factors, roles, and API tokens with their scopes."""
