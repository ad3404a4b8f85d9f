"""KDB in the open, for a time: people at work, processes and services killed at random, and what holds at the end.

    place        where it runs: database, broker, laboratory host, and KDB as `manage.py serve` runs it
    people       who works with it over HTTP, and the ledger of what they were told
    kills        what can be killed, and how it comes back
    invariants   what must hold at the end
    soak         all of it, and the report

`script/soak` runs it, and test_soak.py for as long as CI has time.

The same people work on several hosts, each a network of its own, where nothing is killed:

    network      hosts of this machine
    cluster      what docker-compose.yml describes, on a host each, behind nginx
    memory       a bound on the memory of all of it
    hosts        a rolling upgrade, and a day on 1 GB

`script/hosts` runs it, and test_hosts.py shortly.
"""
