"""A plugin of pytest: one more row of settings, on a field that is none today, before anything else is imported."""

from kdb.disk_path import SETTINGS, Setting, Value

MADE_UP = Setting(
    "guest_mkfs_options",
    "guest-mkfs",
    "Options of the guest's mkfs",
    "A setting that only a test knows.",
    ("mkfs of the guest",),
    (Value("wide", "with wide stripes", ("wide stripes",)), Value("narrow", "with narrow stripes")),
    tried=("narrow", "wide"),
)
SETTINGS[MADE_UP.column] = MADE_UP
