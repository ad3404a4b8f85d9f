"""The coordinates of a number inside its case study. Standard library only.

Two numbers of one case study may be compared where they agree in all of them and differ in nothing but the
configuration. The variant carries benchmark, its version and the workload's parameters.
"""

MEASUREMENT_FIELDS = ("variant_id", "operation", "block_size_bytes", "vm_count", "metric", "unit", "reference")
