"""What a campaign does to machines, without Django: a run's specification comes in, outputs and times go out.

Open `targets.drivers` first; `transport` reaches machines, `benchmarks` loads them, `images` boots them.
"""
