"""The quantile by which 95 % intervals become variances, and variances intervals."""

NORMAL_95 = 1.959964  # of the standard normal distribution, two-sided
