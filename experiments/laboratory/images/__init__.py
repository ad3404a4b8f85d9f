"""What guests and benchmarks start from, made before any run."""
