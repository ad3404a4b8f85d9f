"""People and programs with an account: signing in, second factors, roles, tokens and what they may do."""
