# The commands of a day; CONTRIBUTING.md says what each does. `make` lists them.
.PHONY: help run test quick night check fix ci

help:
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

run: ## the application, at the address it prints
	script/server

test: ## what decides in most cases, in minutes
	script/test

quick: ## what only computes, in half a minute
	script/test --quick

night: ## everything, on both databases
	script/test --all

check: ## what linters, types and migrations have to say
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy
	.venv/bin/python manage.py makemigrations --check --dry-run

fix: ## what the linter can mend by itself
	.venv/bin/python -m ruff check --fix .
	.venv/bin/python -m ruff format .

ci: ## what decides whether a change goes in
	.ci/run
