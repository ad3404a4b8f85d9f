#!/bin/sh
# Packs results of benchmarks, with what this machine says of its storage, into one ZIP to upload to KDB.
#
#   sh collect.sh [-s host|guest] [-d FOLDER] [-m MACHINE]... [RESULT]...
#
#   -s   which side this machine is of: the host (unless told) or the guest
#   -d   the folder that the benchmark worked in, or that holds the images (unless told: this one)
#   -m   a virtual machine of this host, by its name for virsh or its number for qm; may be repeated
#
# It reads, and writes the ZIP into the folder you are in. It sends nothing anywhere, needs no root for most of it, and
# changes no setting. What goes in: block devices without serial numbers (lsblk), the file system of FOLDER (findmnt),
# pools of ZFS (zpool status), processors, memory and disks of the named machines (qm config, virsh dumpxml), and the
# results given. Look into it before you upload it: what is published of a case study has its files with it.
set -eu
umask 077
LC_ALL=C
export LC_ALL

usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

side=host
folder=.
machines=
while getopts s:d:m: option; do
    case $option in
    s) side=$OPTARG ;;
    d) folder=$OPTARG ;;
    m) machines="$machines $OPTARG" ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
case $side in host | guest) ;; *) usage ;; esac
case $machines in *[!A-Za-z0-9._\ -]*) echo "-m: letters, digits, dots, hyphens and underscores only" >&2 && exit 2 ;; esac
[ -d "$folder" ] || { echo "-d: $folder is no folder" >&2 && exit 2; }
for result; do
    [ -f "$result" ] && [ -r "$result" ] || { echo "$result is no file that can be read" >&2 && exit 2; }
done

name=kdb-$side-$(date +%Y%m%d-%H%M%S)
mkdir "$name" "$name/$side"

# keep FILE PROGRAM COMMAND...: what the command says, where the program is here and says anything.
keep() {
    file=$name/$side/$1
    program=$2
    shift 2
    if ! command -v "$program" >/dev/null; then
        echo "not here: $program" >&2
    elif "$@" >"$file" 2>/dev/null && [ -s "$file" ]; then
        echo "kept: $*" >&2
        return
    else
        echo "said nothing, or needs root: $*" >&2
    fi
    rm -f "$file"
}

machine_of_qm() {
    qm config "$1" | grep -E '^(cores|sockets|memory|cpu|numa|machine|ostype|scsihw|(scsi|virtio|sata|ide)[0-9]+): '
}

machine_of_virsh() {
    virsh -r dumpxml "$1" | sed -n \
        -e '/<source .*\/>/d' -e '/<\/\{0,1\}domain[ >]/p' -e '/<memory[ >]/p' -e '/<vcpu[ >]/p' \
        -e '/<\/\{0,1\}devices>/p' -e '/<disk /,/<\/disk>/p'
}

keep lsblk.json lsblk lsblk -J -b -o NAME,TYPE,SIZE,ROTA,FSTYPE,MOUNTPOINT,TRAN,MODEL,SCHED,PHY-SEC,LOG-SEC
keep findmnt.json findmnt findmnt -J -T "$folder"
keep zpool.txt zpool zpool status
for machine in $machines; do
    case $machine in
    *[!0-9]*) keep "virsh-$machine.xml" virsh machine_of_virsh "$machine" ;;
    *) keep "qm-$machine.txt" qm machine_of_qm "$machine" ;;
    esac
done

number=0
for result; do
    number=$((number + 1))
    mkdir -p "$name/results"
    cp -- "$result" "$name/results/$number-$(basename -- "$result")"
done

if command -v zip >/dev/null; then
    zip -q -r "$name.zip" "$name"
elif command -v python3 >/dev/null; then
    python3 -m zipfile -c "$name.zip" "$name"
else
    echo "Neither zip nor python3 is here: pack the folder $name as a ZIP yourself." >&2
    exit 0
fi
rm -r "$name"
echo "$name.zip"
