"""KDB in the open, for a time: people at work, processes and services killed at random, and what holds at the end.

    place        where it runs: database, broker, laboratory host, and KDB as `manage.py serve` runs it
    people       who works with it over HTTP, and the ledger of what they were told
    kills        what can be killed, and how it comes back
    invariants   what must hold at the end
    soak         all of it, and the report

`script/soak` runs it, and test_soak.py for as long as CI has time.
"""
