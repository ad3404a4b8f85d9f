"""The two-sided 95 % quantile of the standard normal distribution, which turns intervals into variances and back."""

NORMAL_95 = 1.959964
