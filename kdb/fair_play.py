"""List the fields in which two numbers of a case study must agree to be compared by configuration.

Standard library only. The variant stands for benchmark, version and parameters of the workload.
"""

MEASUREMENT_FIELDS = ("variant_id", "operation", "block_size_bytes", "vm_count", "metric", "unit", "reference")
