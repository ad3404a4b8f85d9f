"""The folders of a host that may be storage pools. The host asks once more, by remote.sh, and looks at its links."""

from fnmatch import fnmatchcase

# With everything below them. Of a user's files, and what keeps the machine running.
_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc", "/root"),
    *("/run", "/sbin", "/snap", "/sys", "/usr", "/var"),
)
_OWN = ("/var/lib/kdb/*", "/home/*/kdb-demo/*")  # and these are nevertheless; the second for manage.py demo_campaign


def is_of_the_system(path: str) -> bool:
    """Tell whether this absolute, normalised path is no place for a pool."""
    if any(fnmatchcase(f"{path}/", own) for own in _OWN):
        return False
    return path in ("/", "/tmp") or f"{path}/".startswith(tuple(f"{folder}/" for folder in _SYSTEM))  # noqa: S108
