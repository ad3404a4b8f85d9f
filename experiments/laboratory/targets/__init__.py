"""Where a run takes place: the host itself, or virtual machines; the contract of what makes them, and who keeps it."""
