"""The part of a campaign on machines: plan, ssh, drivers, engines. Plain Python: no database, no Django."""
