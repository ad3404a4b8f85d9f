#!/bin/sh
# Packs results of benchmarks, with what this machine says of its storage, into one ZIP to upload to KDB.
#
#   sh collect.sh [-s host|guest] [-d FOLDER] [-m MACHINE]... [RESULT]...
#
#   -s   which side this machine is of: the host (unless told) or the guest
#   -d   the folder that the benchmark worked in, or that holds the images (unless told: this one, where no -m is given)
#   -m   a virtual machine of this host, by its name for virsh or its number for qm; may be repeated
#
# It reads, and writes the ZIP into the folder you are in. It sends nothing anywhere and changes no setting. As root it
# sees more; what it could not see stands in the ZIP, too. What goes in: releases of kernel, QEMU, libvirt, Proxmox VE and
# ZFS; block devices (lsblk); file system, mount options, scheduler and what lies below FOLDER and the disks of the named
# machines (findmnt, zfs get, zpool status, lvs, qemu-img info); processors, memory and disks of these machines (qm config,
# storage.cfg, virsh dumpxml); and the results given. Names, addresses, serial numbers and paths are left out of all but
# the results, which are packed as they are. Look into it before you upload it: what is published of a case study has its
# files with it.
set -eu
umask 077
LC_ALL=C
PATH=$PATH${SBIN-:/usr/sbin:/sbin}
LIBVIRT_DEFAULT_URI=${LIBVIRT_DEFAULT_URI:-qemu:///system}
export LC_ALL PATH LIBVIRT_DEFAULT_URI

usage() {
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

side=host
folder=
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
[ -n "$folder$machines" ] || folder=.
[ -z "$folder" ] || [ -d "$folder" ] || { echo "-d: $folder is no folder" >&2 && exit 2; }
for result; do
    if ! [ -f "$result" ] || ! [ -r "$result" ]; then
        echo "$result is no file that can be read" >&2 && exit 2
    fi
done

name=kdb-$side-$(date +%Y%m%d-%H%M%S)
mkdir "$name" "$name/$side"
settings=$name/$side/settings.txt
echo "kdb settings 1, $side" >"$settings"
tab=$(printf '\t')
pools=

# say ABOUT NAME VALUE: one setting, a line; a value with other signs than settings have is left out.
say() {
    case $3 in '' | *[!A-Za-z0-9\ .,:=+_%~-]*) return 0 ;; esac
    printf '%s\t%s\t%.200s\n' "$1" "$2" "$3" >>"$settings"
}

unseen() {
    grep -q "^not seen$tab$1$tab" "$settings" && return
    printf 'not seen\t%s\t%s\n' "$1" "$2" >>"$settings"
    echo "not seen: $1 ($2)" >&2
}

has() {
    command -v "$1" >/dev/null 2>&1 || { unseen "$1" "the program is not here" && return 1; }
}

# of_pairs KEY: the values of a key in lines like TYPE="disk" ROTA="0", in one line.
of_pairs() {
    sed -n "s/^\(.* \)\{0,1\}$1=\"\([^\"]*\)\".*/\2/p" | tr '\n' ' ' | sed 's/ *$//'
}

# below ABOUT DEVICE...: what these block devices lie on, down to the disks.
below() {
    about=$1
    below=
    shift
    has lsblk || return 0
    rows=$(lsblk -s -n -P -o TYPE,ROTA,TRAN,SCHED "$@" 2>/dev/null) || rows=
    [ -n "$rows" ] || { unseen "what $about lies on" "lsblk says nothing of it" && return 0; }
    below=$(printf '%s\n' "$rows" | of_pairs TYPE)
    say "$about" lies_on "$below"
    disks=$(printf '%s\n' "$rows" | grep 'TYPE="disk"' | sort -u) || return 0
    say "$about" scheduler "$(printf '%s\n' "$disks" | of_pairs SCHED | tr ' ' '\n' | sort -u | of_lines)"
    [ "$side" = host ] || return 0
    say "$about" disks_rotate "$(printf '%s\n' "$disks" | of_pairs ROTA | tr ' ' '\n' | sort -u | of_lines)"
    say "$about" transport "$(printf '%s\n' "$disks" | of_pairs TRAN | tr ' ' '\n' | sort -u | of_lines)"
}

of_lines() {
    tr '\n' ' ' | sed 's/^ *//; s/ *$//'
}

# of_dataset ABOUT DATASET: a volume or file system of ZFS, and the disks of its pool.
of_dataset() {
    has zfs || return 0
    wanted=type,volblocksize,recordsize,compression,encryption,sync,primarycache,logbias,refreservation,dedup,copies
    if ! zfs get -Hp -o property,value "$wanted" "$2" >"$name/said" 2>/dev/null || [ ! -s "$name/said" ]; then
        unseen "ZFS of $1" "zfs get says nothing of it" && return 0
    fi
    while IFS=$tab read -r property value; do
        [ "$value" = - ] || say "$1" "zfs_$property" "$value"
    done <"$name/said"
    say "$1" zfs_snapshots "$(zfs list -H -t snapshot -d 1 -o name "$2" 2>/dev/null | wc -l | tr -d ' ')"
    pool=${2%%/*}
    case " $pools " in *" $pool "*) ;; *) pools="$pools $pool" ;; esac
    has zpool || return 0
    # The data disks: those of logs, caches and spares stand below them.
    devices=$(zpool status -LP "$pool" 2>/dev/null | sed -n -E \
        -e '/^[[:space:]]*(logs|cache|spares|special|dedup)[[:space:]]*$/q' \
        -e 's/^[[:space:]]*(\/dev\/[^[:space:]]*).*/\1/p')
    # shellcheck disable=SC2086 # several devices
    [ -z "$devices" ] || below "$1" $devices
}

# of_folder ABOUT FOLDER: its file system, and what that lies on.
of_folder() {
    has findmnt || return 0
    found=$(findmnt -n -P -o FSTYPE,SOURCE,OPTIONS -T "$2" 2>/dev/null) || found=
    type=$(printf '%s\n' "$found" | of_pairs FSTYPE)
    source=$(printf '%s\n' "$found" | of_pairs SOURCE)
    [ -n "$type" ] || { unseen "the file system of $1" "findmnt says nothing of it" && return 0; }
    say "$1" file_system "$type"
    # Of options with a value only those that tune: others name hosts, users and paths.
    say "$1" mount_options "$(printf '%s\n' "$found" | of_pairs OPTIONS | tr ',' '\n' | grep -E \
        '^([a-z_0-9]+|(compress|compress-force|commit|data|barrier|stripe|sunit|swidth|logbufs|logbsize|allocsize|space_cache|discard|errors|cache|vers|rsize|wsize|proto|autodefrag|max_inline|inode_readahead_blks|journal_ioprio|nconnect)=[A-Za-z0-9:._-]+)$' |
        tr '\n' ',' | sed 's/,$//')"
    case $type:$source in
    zfs:*) of_dataset "$1" "$source" ;;
    *:/dev/*)
        device=${source%%\[*} # btrfs names a subvolume behind the device
        [ "$side" = host ] || of_bus "$1" "$device"
        below "$1" "$device"
        ;;
    esac
}

# of_bus ABOUT DEVICE: how a guest sees its disk.
of_bus() {
    disk=$(lsblk -s -n -P -o TYPE,KNAME "$2" 2>/dev/null | sed -n 's/^TYPE="disk" KNAME="\([a-z0-9]*\)".*/\1/p' | sed 1q)
    path=$(readlink -f "/sys/class/block/${disk:-none}" 2>/dev/null) || path=
    case $path in
    */virtio[0-9]*/block/*) say "$1" bus virtio ;;
    */virtio[0-9]*/host*) say "$1" bus scsi ;;
    */nvme/*) say "$1" bus nvme ;;
    */vbd-*) say "$1" bus xen ;;
    */ata[0-9]*/*)
        case $(readlink -f "${path%%/ata[0-9]*}/driver" 2>/dev/null) in
        */ahci) say "$1" bus sata ;;
        */ata_piix) say "$1" bus ide ;;
        esac
        ;;
    *) unseen "the bus of $1" "/sys does not tell" ;;
    esac
}

# of_volume ABOUT DEVICE: a volume of LVM; false where it is none.
of_volume() {
    said=$(lvs --noheadings --units b --nosuffix --separator '|' -o segtype,stripes,vg_name,lv_name,pool_lv,origin \
        "$2" 2>/dev/null | sed 's/^ *//; 1q') || return 1
    [ -n "$said" ] || return 1
    IFS='|' read -r segment stripes group volume pool origin <<END
$said
END
    say "$1" lvm_segment "$segment"
    say "$1" lvm_stripes "$stripes"
    if [ -n "$pool" ]; then
        say "$1" lvm_chunk_bytes "$(lvs --noheadings --units b --nosuffix -o chunk_size "$group/$pool" 2>/dev/null | tr -d ' ')"
    fi
    of_it=$(lvs --noheadings -o lv_name -S "origin=$volume" "$group" 2>/dev/null | wc -l | tr -d ' ')
    [ -z "$origin" ] || of_it=$((of_it + 1))
    say "$1" lvm_snapshots "$of_it"
    case $segment in thin) say "$1" backend lvm-thin ;; *) say "$1" backend lvm ;; esac
}

# of_image ABOUT FILE: a disk image.
of_image() {
    has qemu-img || return 0
    info=$(qemu-img info -U "$2" 2>/dev/null) || info=
    [ -n "$info" ] || { unseen "the image of $1" "qemu-img says nothing of it" && return 0; }
    say "$1" image_format "$(printf '%s\n' "$info" | sed -n 's/^file format: //p')"
    say "$1" cluster_bytes "$(printf '%s\n' "$info" | sed -n 's/^cluster_size: //p')"
    size=$(printf '%s\n' "$info" | sed -n 's/^virtual size: .*(\([0-9]*\) bytes).*/\1/p')
    say "$1" size_bytes "$size"
    taken=$(du -k "$2" 2>/dev/null | sed 's/[[:space:]].*//')
    [ "${size:-0}" -eq 0 ] || [ -z "$taken" ] || say "$1" allocated_percent $((taken * 102400 / size))
    for pair in "backing_file:^backing file:" "image_snapshots:^Snapshot list:" "image_encrypted:^encrypted: yes"; do
        if printf '%s\n' "$info" | grep -q "${pair#*:}"; then say "$1" "${pair%%:*}" yes; else say "$1" "${pair%%:*}" no; fi
    done
}

# of_disk ABOUT PATH: what a virtual disk lies on.
of_disk() {
    case $2 in
    /dev/zvol/*)
        say "$1" backend zvol
        of_dataset "$1" "${2#/dev/zvol/}"
        ;;
    /dev/*)
        below "$1" "$2"
        if has lvs && ! of_volume "$1" "$2"; then
            case $below in *lvm*) unseen "the volume of $1" "lvs says nothing of it" ;; *) say "$1" backend raw ;; esac
        fi
        ;;
    /*)
        say "$1" backend file
        of_image "$1" "$2"
        of_folder "$1" "${2%/*}"
        ;;
    rbd:*) say "$1" backend rbd ;;
    *) unseen "what $1 lies on" "its storage does not tell a path" ;;
    esac
}

# keep FILE COMMAND...: what the command says, where it says anything.
keep() {
    file=$name/$side/$1
    shift
    if "$@" >"$file" 2>/dev/null && [ -s "$file" ]; then
        echo "kept: $*" >&2
    else
        rm -f "$file"
        return 1
    fi
}

devices() {
    said=$(lsblk -J -b -o KNAME,TYPE,SIZE,ROTA,FSTYPE,TRAN,MODEL,SCHED,PHY-SEC,LOG-SEC) || return 1
    printf '%s\n' "$said" | sed 's/"kname"/"name"/'
}

# The pools that hold something named, else all, without names of pools, disks and files.
layouts() {
    # shellcheck disable=SC2086 # several pools
    said=$(zpool status $pools) || return 1
    printf '%s\n' "$said" | awk '
        /^ *pool: / { pool = $2; number++; print "  pool: pool" number; inside = 0; next }
        /^ *state: / { print; next }
        /^ *errors: / { print (/No known/ ? $0 : "errors: there are some"); inside = 0; next }
        /NAME +STATE +READ/ { inside = 1; print "config:\n"; print; next }
        inside && NF {
            match($0, /^[ \t]*/)
            known = "^(mirror|raidz[123]?|draid[^ ]*|spare|replacing)-[0-9]+$|^(logs|cache|spares|special|dedup)$"
            word = $1 == pool ? "pool" number : $1 ~ known ? $1 : "disk"
            print substr($0, 1, RLENGTH) word (NF > 1 ? " " $2 : "") (NF > 4 ? " " $3 " " $4 " " $5 : "")
        }'
}

machine_of_qm() {
    qm config "$1" | grep -E '^(cores|sockets|memory|numa|machine|ostype|scsihw|(scsi|virtio|sata|ide)[0-9]+): ' |
        grep -v 'media=cdrom' | sed -E \
        -e '/^(scsi|virtio|sata|ide)[0-9]+: /s/,(serial|wwn|model|import-from)=[^,]*//g' \
        -e 's/^((scsi|virtio|sata|ide)[0-9]+: )[^,:]*:[^,]*\.(qcow2|raw|vmdk)/\1storage:disk.\3/' \
        -e 's/^((scsi|virtio|sata|ide)[0-9]+: )[^,:.]*:[^,.]*(,|$)/\1storage:disk\3/' \
        -e 's/^((scsi|virtio|sata|ide)[0-9]+: )\/[^,]*/\1disk/'
}

disks_of_qm() {
    qm config "$1" | grep -v 'media=cdrom' | sed -n -E 's/^((scsi|virtio|sata|ide)[0-9]+): ([^,]*).*/\1 \3/p' >"$name/disks"
    while read -r disk volume <&3; do
        case $volume in
        none) ;;
        /*) of_disk "$disk" "$volume" ;;
        *)
            of_storage "$disk" "${volume%%:*}"
            of_disk "$disk" "$(pvesm path "$volume" 2>/dev/null)"
            ;;
        esac
    done 3<"$name/disks"
}

# of_storage ABOUT STORAGE: what /etc/pve/storage.cfg says of it, as far as it is a setting.
of_storage() {
    config=${ETC_PVE:-/etc/pve}/storage.cfg
    [ -r "$config" ] || { unseen storage.cfg "it cannot be read" && return 0; }
    awk -v wanted="$2" '/^[a-z]+: / { here = $2 == wanted; if (here) print "type", substr($1, 1, length($1) - 1) }
        here && $1 ~ /^(sparse|blocksize|krbd|preallocation|saferemove)$/ { print $1, $2 }' \
        "$config" | while read -r key value; do say "$1" "storage_$key" "$value"; done
}

machine_of_virsh() {
    virsh -r dumpxml "$1" | sed -n \
        -e '/<\/\{0,1\}domain[ >]/p' -e '/<memory[ >]/p' -e '/<vcpu[ >]/p' -e '/<\/\{0,1\}devices>/p' \
        -e "/<controller type='scsi'/s/ *\/\{0,1\}>\$/\/>/p" \
        -e '/<disk /,/<\/disk>/{' -e '/<\/\{0,1\}disk[ >]/p' -e '/<target /p' -e '/<driver /s/ *\/\{0,1\}>$/\/>/p' -e '}'
}

disks_of_virsh() {
    virsh -r domblklist --details "$1" >"$name/disks" 2>/dev/null || return 0
    while read -r _ device target source <&3; do
        case $device:$source in disk:/* | lun:/*) of_disk "$target" "$source" ;; esac
    done 3<"$name/disks"
}

release() {
    sed -n "s/^$1\([0-9][0-9.]*[0-9]\).*/\1/p" | sed 1q
}

say machine kernel "$(uname -r)"
if [ "$side" = host ]; then
    for qemu in kvm qemu-system-x86_64 qemu-system-aarch64 /usr/libexec/qemu-kvm; do
        command -v "$qemu" >/dev/null 2>&1 || continue
        say machine qemu_release "$("$qemu" --version 2>/dev/null | release '.*version ')"
        break
    done
    if command -v pveversion >/dev/null 2>&1; then
        say machine pve_release "$(pveversion 2>/dev/null | release '.*pve-manager\/')"
    fi
    if command -v virsh >/dev/null 2>&1; then
        say machine libvirt_release "$(virsh --version 2>/dev/null | release '')"
    fi
fi
[ ! -r /sys/module/zfs/version ] || say machine zfs_release "$(release '' </sys/module/zfs/version)"

[ -z "$folder" ] || of_folder folder "$folder"
number=0
for machine in $machines; do
    number=$((number + 1))
    case $machine in
    *[!0-9]*) program=virsh ;;
    *) program=qm ;;
    esac
    has $program || continue
    suffix=txt
    [ $program = qm ] || suffix=xml
    if keep "machine-$number.$suffix" machine_of_$program "$machine"; then
        disks_of_$program "$machine"
    else
        unseen "machine $number" "$program says nothing of it"
    fi
done
if [ "$side" = host ] && [ -z "$machines" ]; then
    unseen "virtual machines" "none was named by -m"
fi
has lsblk && { keep lsblk.json devices || unseen lsblk "it says nothing"; }
if command -v zpool >/dev/null 2>&1; then
    keep zpool.txt layouts || unseen "zpool status" "it says nothing"
fi
rm -f "$name/said" "$name/disks"

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
