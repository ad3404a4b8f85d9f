"""Drivers list the machines of a host, count what their disks do, and move the disks. No Django.

Begin with `contract`, which says what a driver does and raises. `libvirt` and `proxmox` are the two drivers, each with
a module for listing and one for moving; `script` calls the shell scripts that move.
"""
