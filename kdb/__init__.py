"""KDB: what is known about file-system performance under hypervisors."""

__version__ = "0.1.0"
