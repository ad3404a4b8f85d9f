"""Limit what strangers' requests may cost.

A request of nobody signed in that only reads gets so much processor time of the web server (budget). What costs more
is left to a worker (leaving): it is answered 202 until the answer is there, and given up where nobody asks for it any
more. What each address and user has cost in the last minute is counted, for pages and the API alike (spending).
"""
