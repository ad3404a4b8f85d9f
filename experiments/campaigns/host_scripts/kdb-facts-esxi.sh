#!/bin/sh
# What a campaign on a virtual machine of ESXi cannot find out from inside: paste what this prints into the host's page in KDB.
# Run it in the ESXi shell while the machine is running; it changes nothing, and asks nothing over the network.
#
#     sh kdb-facts-esxi.sh "NAME OF THE MACHINE" [DISK, as in its .vmx: scsi0:0]
set -eu
machine=${1:?name the virtual machine, as esxcli vm process list does}
disk=${2:-scsi0:0}

vmx=$(esxcli vm process list | awk -v name="$machine" '
    sub(/^ *Display Name: /, "") { shown = $0 }
    sub(/^ *Config File: /, "") { if (shown == name) print }
')
if [ ! -f "$vmx" ]; then
    echo "no running machine is called $machine" >&2
    exit 1
fi
setting() { sed -n "s/^$2 *= *\"\(.*\)\" *\$/\1/p" "$1" | head -n 1; }
say() { [ -z "$2" ] || echo "$1: $2"; }

image=$(setting "$vmx" "$disk.fileName")
if [ -z "$image" ]; then
    echo "$machine has no disk $disk; it has $(sed -n 's/^\([a-z]*[0-9]*:[0-9]*\)\.fileName.*/\1/p' "$vmx" | tr '\n' ' ')" >&2
    exit 1
fi
case $image in /*) ;; *) image=$(dirname "$vmx")/$image ;; esac
about=$(esxcli system version get)
controller=${disk%%:*}
vcpus=$(setting "$vmx" numvcpus)

echo "kdb-facts: 1"
echo "hypervisor: esxi"
say hypervisor_release "$(echo "$about" | awk -F ': ' '
    /^ *Product: / { product = $2 }
    /^ *Version: / { version = $2 }
    /^ *Build: / { build = $2; sub(/Releasebuild-/, "build ", build) }
    END { print product " " version " " build }')"
echo "virtualisation: full"
say virtual_devices "$(setting "$vmx" "$controller.virtualDev")"
say disk_bus "$(echo "$controller" | sed 's/[0-9]*$//')"
echo "image_format: vmdk"
[ "$(setting "$image" ddb.thinProvisioned)" != 1 ] || echo "allocation: sparse"
say vm_vcpus "${vcpus:-1}" # a machine of one has no such line
memory=$(setting "$vmx" memSize)
[ -z "$memory" ] || say vm_ram_gib "$(awk -v mib="$memory" 'BEGIN { print mib / 1024 }')"
say vm_disk "$disk, $(basename "$image")"
