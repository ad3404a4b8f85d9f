"""The cost matrix C1.1-C3.7 as the catalogue holds it."""

from experiments.models import MechanismCost
from modelling.workloads.mechanisms import Matrix, Mechanism


def cost_matrix() -> Matrix:
    """Return file system slug to operation to cell, the operations spelled as in mechanisms.RULES; one query."""
    rows = MechanismCost.objects.values_list("file_system__slug", "operation", "code", "mechanism")
    matrix: dict[str, dict[str, Mechanism]] = {}
    for file_system, operation, code, mechanism in rows:
        name = MechanismCost.Operation(operation).name.lower()
        matrix.setdefault(file_system, {})[name] = Mechanism(code, mechanism)
    return matrix
