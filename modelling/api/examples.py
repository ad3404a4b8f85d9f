"""Answers as the documentation shows them, shortened. A test holds their shape to that of real ones."""

_SOURCE = {"measurements": 0, "derived": 4, "findings": 0, "sources": ["Section 6.1"]}

RANKING = {
    "question": {
        "axis": "hypervisor",
        "workload": "fileserver",
        "hypervisor": None,
        "guest_fs": None,
        "host_fs": None,
        "vm_count": 1,
        "storage": None,
        "benchmark": None,
        "guest_os_family": None,
        "grade": None,
    },
    "revision": 1,
    "reference": "kvm",
    "unit": "ratio",
    "status": "ranked",
    "entries": [
        {
            "rank": 1,
            "part": 1,
            "key": "kvm",
            "label": "KVM",
            "ratio": 1.0,
            "low": 1.0,
            "high": 1.0,
            "p_score": 1.0,
            "grade": "B",
            "tied_with": [],
            "confounded_with": ["host_fs"],
            "case_studies": 2,
            "measurements": 1,
            "derived": 1,
            "findings": 0,
        },
        {
            "rank": 2,
            "part": 1,
            "key": "proxmox",
            "label": "Proxmox VE",
            "ratio": 0.674,
            "low": 0.466,
            "high": 0.975,
            "p_score": 0.0,
            "grade": "B",
            "tied_with": [],
            "confounded_with": ["host_fs"],
            "case_studies": 2,
            "measurements": 3,
            "derived": 1,
            "findings": 0,
        },
    ],
    "parts": [
        {
            "part": 1,
            "basis": "numbers",
            "reference": "kvm",
            "held_equal": "guest file system, guest operating system",
            "networks": [
                {
                    "entries": ["kvm", "proxmox"],
                    "case_studies": 2,
                    "tau2": 0.0,
                    "q": 0.4,
                    "freedom": 1,
                    "i2": 0.0,
                    "q_heterogeneity": 0.4,
                    "q_inconsistency": 0.0,
                }
            ],
        }
    ],
    "best": ["kvm"],
    "worst": ["proxmox"],
    "scaling": [],
    "notes": ["Confounded with the host file system: it comes along with the entry and differs."],
    "evidence": [{"case_study": "p0", "title": "Four Linux-based hypervisors", **_SOURCE}],
    "missing": [],
}

STATUS = {
    "version": "0.1.0",
    "revision": 1,
    "case_studies": 7,
    "configurations": 44,
    "measurements": 158,
    "derived": 98,
    "findings": 36,
    "claims": 282,
    "health": {
        "database": {"status": "ok", "detail": "PostgreSQL answers."},
        "broker": {"status": "ok", "detail": "Redis answers."},
        "workers": {"status": "ok", "detail": "1 worker, last seen 4 s ago."},
    },
}

HEAT_MAP = {
    "question": RANKING["question"] | {"axis": "fs-pair", "workload": "varmail", "hypervisor": "kvm", "vm_count": None},
    "revision": 1,
    "guests": [{"key": "ext4", "label": "ext4"}],
    "hosts": [{"key": "btrfs", "label": "Btrfs"}, {"key": "ext4", "label": "ext4"}],
    "cells": [
        [
            {
                **{"guest_fs": "ext4", "host_fs": "btrfs", "rank": None, "part": None, "ratio": None, "low": None},
                **{"high": None, "grade": None, "shade": None, "standing": "no evidence"},
            },
            {
                **{"guest_fs": "ext4", "host_fs": "ext4", "rank": 1, "part": 1, "ratio": 1.0, "low": 1.0, "high": 1.0},
                **{"grade": "B", "shade": 4, "standing": "best"},
            },
        ]
    ],
}

MIX = {
    "axis": "fs-pair",
    "weights": {"varmail": 0.75, "webserver": 0.25},
    "revision": 1,
    "entries": [
        {
            **{"key": "ext4-on-ext4", "rank": 1, "ratio": 1.0, "low": 1.0, "high": 1.0, "tied": False, "p_score": 1.0},
            "parts": {"varmail": 1.0, "webserver": 1.0},
            "label": "ext4 on ext4",
        },
    ],
    "ranges": [
        {
            **{"workload": "varmail", "share": 0.75, "low": 0.5, "high": 1.0, "below": "xfs-on-ext4", "above": None},
        },
    ],
    "left_out": {"xfs-on-xfs": ["webserver"]},
}
