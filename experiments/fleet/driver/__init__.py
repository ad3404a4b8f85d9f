"""Drivers: how the machines of a host are listed, their disks counted and moved, whatever runs them. No Django.

`contract` says what a driver does and raises: begin there. `libvirt` and `proxmox` are the two drivers, each a module
that lists and one that moves; `script` calls the shell scripts by which they move.
"""
