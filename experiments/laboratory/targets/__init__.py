"""Where a run takes place, the host itself or virtual machines: a `RunSpec` comes in, a list of `Machine` goes out.

Open `drivers` first; `hypervisors.Hypervisor` is the contract that `libvirt`, `proxmox` and `xen` keep.
"""
