"""Read what Ceph's own benchmarks print."""
