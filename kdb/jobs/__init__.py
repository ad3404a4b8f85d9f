"""Background jobs: jobs.enqueue(kind, ...) makes a Job row, and a worker calls the kind's handler. Start with jobs.py.

worker (without Redis) and tasks (for Celery) run the rows; maintenance requeues those of lost workers. serving,
supervisor and starting_page keep the web server and the workers running for `manage.py serve`.
"""
