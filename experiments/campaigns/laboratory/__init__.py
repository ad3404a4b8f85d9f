"""What a campaign does to machines: plan, ssh, drivers, engines. Plain Python: no database, no Django."""
