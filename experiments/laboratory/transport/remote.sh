# shellcheck shell=sh disable=SC1091 # /etc/os-release is the machine's
# What KDB does on a machine, for `sh -s -- VERB ARGUMENT...`: this text is fixed, only arguments vary.
#
# Everything it makes lies in POOL/.kdb (the area), one run at a time. TOKEN is the number of the
# attempt: a verb with a smaller one than the area's comes from a worker that was given up, and is
# refused. Which KDB it is stands in the script's own name, kdb-remote:IDENTITY, and in the area that it made: another one's is
# left alone. Answers are lines of "key<TAB>value". Status 90 is a refusal, with its reason on stderr; 91 to 93 are what the
# machine cannot do now, whatever is asked of it (remote.py has their names).
set -eu
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
umask 077

say() { printf '%s\t%s\n' "$1" "$2"; }
refuse() {
    printf '%s\n' "$1" >&2
    exit 90
}
silent() { # the hypervisor does not answer
    printf '%s\n' "$1" | tr '\n' ' ' >&2
    exit 91
}
stays() { # what KDB made is there, and cannot be taken away here
    printf '%s\n' "$1" >&2
    exit 93
}

# A run polls its area often, and each process costs the host a millisecond or two: what every verb asks of the area is
# asked with the shell's own commands.

# POOL: sets WHY it cannot be one, to nothing where it can. The folders are those of laboratory.transport.pools.
against_pool() {
    against_path "$1"
    [ -z "$WHY" ] || return 0
    if [ ! -d "$1" ]; then
        WHY="$1 is not a folder of this machine"
    elif [ "$(cd -P "$1" 2>/dev/null && pwd || readlink -f "$1")" != "$1" ]; then
        WHY="$1 is reached through a symbolic link"
    fi
}

against_path() {
    WHY=
    case $1/ in
    /) WHY="an absolute path is needed" ;;
    //) WHY="the root folder cannot be a storage pool" ;;
    /*[!A-Za-z0-9_.+/-]*) WHY="$1 has characters that a storage pool may not have" ;;
    /var/lib/kdb/* | /home/*/kdb-demo/*) ;;
    /bin/* | /boot/* | /dev/* | /etc/* | /home/* | /lib/* | /lib32/* | /lib64/* | /libx32/* | /lost+found/* | /proc/* | \
        /root/* | /run/* | /sbin/* | /snap/* | /sys/* | /tmp/ | /usr/* | /var/*)
        WHY="$1 belongs to the system and cannot be a storage pool"
        ;;
    /*) ;;
    *) WHY="$1 is not an absolute path" ;;
    esac
}

case $0 in *:*) KDB=${0#*:} ;; *) KDB= ;; esac

# FILE: sets LINE, its first; nothing where it is not there.
first_line() {
    LINE=
    [ ! -f "$1" ] || read -r LINE <"$1" || true
}

# An area of an earlier version has no mark, nor has one whose mark was removed to give it away.
refuse_anothers() {
    first_line "$AREA/kdb"
    [ -n "$KDB" ] && [ -n "$LINE" ] && [ "$LINE" != "$KDB" ] || return 0
    printf '%s\n' "This pool is used by another KDB ($LINE, since $(date -r "$AREA/kdb" '+%F %R')); give each its own pool. If that KDB is gone for good, remove $AREA/kdb" >&2
    exit 91
}

# POOL: sets AREA.
open_pool() {
    POOL=$1
    against_pool "$POOL"
    [ -z "$WHY" ] || refuse "$WHY"
    AREA=$POOL/.kdb
    if [ -e "$AREA" ] || [ -L "$AREA" ]; then
        if ! is_ours || [ ! -f "$AREA/token" ]; then
            refuse_left_overs
            refuse "$AREA is there and is not KDB's: move it away"
        fi
        refuse_anothers
    fi
}

# shellcheck disable=SC3067 # every shell here knows -O
is_ours() { [ -d "$AREA" ] && [ ! -L "$AREA" ] && [ -O "$AREA" ]; }

# Sets LINE to the area's token; it is empty where the disk was full when it should be written.
token_here() {
    first_line "$AREA/token"
    case $LINE in "" | *[!0-9]*) LINE=0 ;; esac
}

# The area, with everything of attempt TOKEN or of an older one in it.
open_area() {
    open_pool "$1"
    if [ -n "$KDB" ] && [ ! -s "$AREA/kdb" ]; then return; fi # it may be given away: its number counted elsewhere
    [ -d "$AREA" ] || return 0
    token_here
    if [ "$LINE" -gt "$2" ]; then
        refuse "superseded: a later attempt works here"
    fi
}

own_area() {
    open_area "$1" "$2"
    [ -d "$AREA" ] || stays "somebody removed $AREA, the area of a run under way"
    token_here
    [ "$LINE" = "$2" ] || refuse "superseded: the area of attempt $2 is gone"
}

# NAME of something directly in the area.
plain() {
    case $1 in "" | .* | */* | *[!A-Za-z0-9._-]*) refuse "$1 is not a plain name" ;; esac
}

start_time() { # PID: nothing where there is none
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    # shellcheck disable=SC2086 # its words
    set -- ${line##*) }
    echo "${20}"
}

# The session leader recorded in FILE, while it lives: pids are used again, start times tell.
leader() {
    [ -f "$1" ] || return 1
    read -r pid began <"$1" || return 1
    [ "$(start_time "$pid")" = "$began" ] && echo "$pid"
}

# USER GROUP PATH: what keeps them from reading it, the uppermost folder on the way or itself; nothing where they may.
barred() {
    groups=$(id -G "$1" 2>/dev/null | tr ' ' ,)
    # shellcheck disable=SC2016 # that shell expands it
    setpriv --reuid "$1" --regid "$2" --groups "${groups:-$2}" sh -c '
        [ ! -r "$1" ] || exit 0
        place=$1 barred=$1
        while [ "$place" != / ]; do
            place=$(dirname "$place")
            [ -x "$place" ] || barred=$place
        done
        echo "$barred"
    ' kdb-barred "$3"
}

mounts_below() { awk -v below="$1/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | sort -r; }
loops_below() {
    losetup --list --noheadings --raw --output NAME,BACK-FILE | awk -v below="$1/" 'index($2, below) == 1 { print $1 }'
}

# Ask SECONDS times for nothing to be printed any more.
until_nothing() {
    rest=$(($1 * 10))
    shift
    while [ -n "$("$@")" ]; do
        rest=$((rest - 1))
        [ "$rest" -gt 0 ] || return 1
        sleep 0.1
    done
}

# The domains of the area that libvirt has; a word where libvirt does not say.
domains_left() {
    if listed=$(virsh -c qemu:///system --quiet list --all --name 2>/dev/null); then
        printf '%s\n' "$listed" | grep -Fx -f "$AREA/domains" || true
    else
        echo unknown
    fi
}

end_on_libvirt() {
    [ "$(domains_left)" != unknown ] || silent "libvirt does not say which virtual machines are there"
    for domain in $(domains_left); do end_domain "$domain"; done
    until_nothing 10 domains_left && return
    [ "$(domains_left)" != unknown ] || silent "libvirt does not say which virtual machines are there"
    stays "virtual machines stay: $(domains_left | tr '\n' ' ')"
}

end_domain() { # NAME
    virsh -c qemu:///system --quiet destroy "$1" >/dev/null 2>&1 || true
    virsh -c qemu:///system --quiet undefine "$1" >/dev/null 2>&1 || true
    rm -f "/var/log/libvirt/qemu/$1.log"* 2>/dev/null || true # only root may
}

# Who works in the area. A benchmark's processes may outlive their leader and leave its session: Filebench's
# readers do the one, fio's jobs the other. Their working folder stays where it was: find reads the links themselves,
# and prints nothing that somebody may have named.
workers_below() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$AREA/*" -printf '%p\n' 2>/dev/null | cut -d / -f 3; }

kill_workers() {
    rest=50
    while workers=$(workers_below) && [ -n "$workers" ]; do
        # shellcheck disable=SC2086 # a list of numbers
        kill -KILL $workers 2>/dev/null || true
        rest=$((rest - 1))
        [ "$rest" -gt 0 ] || stays "processes stay: $(echo "$workers" | tr '\n' ' ')"
        sleep 0.1
    done
}

# NUMBER NAME: end and destroy a machine of Proxmox VE, where the one with this number has this name and our tag. One whose
# making broke off has neither yet: it was noted before, when the number was free.
end_on_proxmox() {
    if ! config=$(qm config "$1" 2>&1); then
        case $config in *"does not exist"*) return 0 ;; esac
        silent "Proxmox VE does not say what $1 is: $config"
    fi
    if [ "$config" != "lock: create" ]; then
        printf '%s\n' "$config" | grep -qFx "name: $2" || return 0
        printf '%s\n' "$config" | sed -n 's/^tags: //p' | tr -s ';, ' '\n' | grep -qFx kdb || return 0
    fi
    if printf '%s\n' "$config" | grep -q '^lock: '; then qm unlock "$1" >/dev/null || true; fi
    qm stop "$1" >/dev/null 2>&1 || true # it may have ended by itself; destroy refuses where it runs
    why=$(qm destroy "$1" --purge 1 --destroy-unreferenced-disks 1 2>&1) || stays "the virtual machine $1 stays: $why"
}

# The machines of Xen that have an identity of ours, by their numbers; a word where Xen does not say.
xen_left() {
    if listed=$(xl vm-list 2>/dev/null); then
        printf '%s\n' "$listed" | awk 'NR == FNR { ours[$1]; next } $1 in ours { print $2 }' "$AREA/xen" -
    else
        echo unknown
    fi
}

end_on_xen() {
    # A creation under way would go on after us; what it has made by now is listed, named or not.
    if creating=$(leader "$AREA/xl.pid"); then kill -KILL "$creating" 2>/dev/null || true; fi
    [ "$(xen_left)" != unknown ] || silent "Xen does not say which virtual machines are there"
    for domain in $(xen_left); do xl destroy "$domain" >/dev/null 2>&1 || true; done
    until_nothing 10 xen_left || stays "virtual machines of Xen stay: $(xen_left | tr '\n' ' ')"
    while read -r _ name; do
        remove_xen_logs "$name"
    done <"$AREA/xen"
}

remove_xen_logs() { rm -f "/var/log/xen/xl-$1.log"* "/var/log/xen/qemu-dm-$1.log"*; } # NAME

# The virtual machines of the area.
guests_below() {
    if [ -s "$AREA/xen" ]; then
        # shellcheck disable=SC2062 # the patterns come from standard input
        cut -d ' ' -f 2 "$AREA/xen" | grep -lsazFx --file=- /proc/[0-9]*/cmdline | cut -d / -f 3
    fi
    if [ -s "$AREA/domains" ]; then
        # shellcheck disable=SC2062 # the patterns come from standard input
        sed 's/.*/guest=&,/' "$AREA/domains" | grep -lsaF --file=- /proc/[0-9]*/cmdline | cut -d / -f 3
    fi
    if [ -s "$AREA/proxmox" ]; then
        while read -r number _; do cat "/run/qemu-server/$number.pid" 2>/dev/null || true; done <"$AREA/proxmox"
    fi
}

# What was used since the machine started: ticks of all processors, of our processes with what they have ended, and of
# the kernel's threads (which do the benchmark's writing, and the file systems'); bytes read and written by all others.
usage() {
    say hz "$(getconf CLK_TCK)"
    say up "$(cut -d ' ' -f 1 /proc/uptime)"
    say cpu "$(sed -n 's/^cpu  *//p' /proc/stat)"
    # A name may have anything in it: what follows its bracket counts.
    grep -s '' /proc/[0-9]*/stat /proc/[0-9]*/io | awk -v root="$(id -u)" -v ours="$(workers_below) $(guests_below)" '
        BEGIN { split(ours, list, "[ \n]+"); for (n in list) mine[list[n]] = 1 }
        { split($0, path, "/"); pid = path[3] }
        path[4] ~ /^stat:/ && sub(/.*\) /, "") {
            ticks = $12 + $13 + $14 + $15
            if (pid in mine) our += ticks
            else if (pid == 2 || $2 == 2) { kernel[pid] = 1; kernels += ticks }
        }
        path[4] ~ /^io:read_bytes/ && !(pid in mine) && !(pid in kernel) { read += $2 }
        path[4] ~ /^io:write_bytes/ && !(pid in mine) && !(pid in kernel) { wrote += $2 }
        END {
            printf "ours\t%d\nkernel\t%d\n", our, kernels
            if (root == 0) printf "read_bytes\t%.0f\nwrite_bytes\t%.0f\n", read, wrote # others see their own only
        }
    '
}

# MIB [FILE]: sets GROUP, a new group of processes that may use this much memory, their files in the page cache included.
# FILE notes it before it is made: the connection may be cut in between. Of version 2 the group lies at the root, which alone may
# have both processes and groups with a controller; where a container's root is none, the first line fails.
limit_memory() {
    root=/sys/fs/cgroup limit=memory.max
    if [ -f $root/cgroup.controllers ]; then
        echo +memory >$root/cgroup.subtree_control || return 1
    else
        root=$root/memory limit=memory.limit_in_bytes
    fi
    read -r id </proc/sys/kernel/random/uuid
    GROUP=$root/kdb-$id
    [ $# -lt 2 ] || { echo "$GROUP" >"$2" && sync "$2"; } || return 1
    mkdir "$GROUP" && [ -f "$GROUP/$limit" ] || return 1 # else it is a mere folder
    echo "$1M" >"$GROUP/$limit" || return 1
    # Nothing of it goes to a swap space, which may lie on the disk that is measured.
    for swap in memory.swap.max memory.swappiness; do [ ! -w "$GROUP/$swap" ] || echo 0 >"$GROUP/$swap"; done
}

remove_group() { [ ! -d "$GROUP" ] || rmdir "$GROUP" 2>&1 || true; }

drop_group() { # that the area noted, made or not
    first_line "$AREA/group"
    GROUP=$LINE
    [ -z "$GROUP" ] || until_nothing 10 remove_group || stays "the group of processes $GROUP stays"
}

clean_area() {
    [ -d "$AREA" ] || return 0
    kill_workers
    drop_group
    if [ -s "$AREA/proxmox" ]; then
        while read -r number name; do end_on_proxmox "$number" "$name" </dev/null; done <"$AREA/proxmox"
    fi
    [ ! -s "$AREA/xen" ] || end_on_xen
    [ ! -s "$AREA/domains" ] || end_on_libvirt
    release
    # The token goes last: an area that is half removed is still known as ours.
    find "$AREA" -xdev -mindepth 1 ! -path "$AREA/token" ! -path "$AREA/kdb" -delete
    rm -f "$AREA/kdb" "$AREA/token"
    rmdir "$AREA"
}

release() { # what is mounted in the area, and its loop devices
    rest=50
    for point in $(mounts_below "$AREA"); do
        until umount "$point" 2>/dev/null; do
            rest=$((rest - 1))
            [ "$rest" -gt 0 ] || stays "cannot unmount $point: something uses it"
            sleep 0.2
        done
    done
    for device in $(loops_below "$AREA"); do
        if [ "$(blkid --probe --match-tag TYPE --output value "$device" 2>/dev/null)" = LVM2_member ]; then
            lvm_on "$device" vgchange --quiet --activate n >/dev/null || stays "volumes on $device stay"
        fi
    done
    for device in $(loops_below "$AREA"); do chown 0 "$device" && losetup --detach "$device" 2>/dev/null || true; done
    until_nothing 10 loops_below "$AREA" || stays "loop devices stay: $(loops_below "$AREA" | tr '\n' ' ')"
}

# The virtual machines whose console lies in the area (of Xen's the root disk), by what runs them, its word for each, and the name. MAKERS says
# whom to ask. Everything KDB makes names its area, so it is found, too, where the area and its notes were removed.
guests_left() {
    for maker in $MAKERS; do
        case $maker in
        libvirt)
            listed=$(virsh -c qemu:///system --quiet list --all --name) || return 1
            for name in $(printf '%s\n' "$listed" | grep '^kdb-'); do
                if virsh -c qemu:///system dumpxml "$name" 2>/dev/null | grep -qF "'$AREA/console"; then echo "libvirt $name $name"; fi
            done
            ;;
        proxmox)
            listed=$(qm list) || return 1
            for number in $(printf '%s\n' "$listed" | awk '$1 >= 900000000 && $2 ~ /^kdb-/ { print $1 }'); do
                if config=$(qm config "$number" 2>/dev/null) && printf '%s\n' "$config" | grep -qF "file:$AREA/console"; then
                    echo "proxmox $number $(printf '%s\n' "$config" | sed -n 's/^name: //p')"
                fi
            done
            ;;
        xen)
            listed=$(xl vm-list) || return 1
            for number in $(printf '%s\n' "$listed" | awk '$3 ~ /^kdb-/ { print $2 }'); do
                if xl list -l "$number" 2>/dev/null | grep -qF "\"$AREA/root"; then
                    echo "xen $number $(printf '%s\n' "$listed" | awk -v n="$number" '$2 == n { print $3 }')"
                fi
            done
            ;;
        esac
    done
}

asked_guests() {
    guests_left 2>/dev/null || silent "the hypervisor ($MAKERS) does not say which virtual machines are there"
}

# What is left of runs whose area does not know it any more, a line each.
left_overs() {
    found=$(asked_guests)
    [ -z "$found" ] || printf '%s\n' "$found" | sed 's/^[^ ]* [^ ]* /virtual machine /'
    for worker in $(workers_below); do echo "process $worker"; done
    mounts_below "$AREA" | sed 's/^/mount /'
    loops_below "$AREA" | sed 's/^/loop device /'
}

refuse_left_overs() {
    found=$(left_overs)
    [ -z "$found" ] || stays "left-overs of KDB in $POOL: $(printf '%s\n' "$found" | sed ':all; N; $!b all; s/\n/, /g')"
}

# End and take away everything of KDB's below the pool, whether or not its area is still there to know it.
clear_away() {
    if is_ours && [ -f "$AREA/token" ]; then clean_area; fi
    kill_workers
    found=$(asked_guests)
    [ -z "$found" ] || printf '%s\n' "$found" | while read -r maker word name; do
        case $maker in
        libvirt) end_domain "$word" </dev/null ;;
        proxmox) end_on_proxmox "$word" "$name" </dev/null ;;
        xen)
            xl destroy "$word" </dev/null >/dev/null 2>&1 || true
            remove_xen_logs "$name"
            ;;
        esac
    done
    until_nothing 10 guests_left || stays "virtual machines stay: $(guests_left | tr '\n' ' ')"
    asked_guests >/dev/null
    release
    if is_ours; then # a benchmark whose area was removed under it wrote on
        find "$AREA" -xdev -maxdepth 1 -type f \( -name 'benchmark.*' -o -name 'console[0-9]*' \) -delete
        find "$AREA" -xdev -depth -type d -empty -delete
    fi
}

# PATH MIB. Where it is another file system than the pool's, the run made that, and its size was planned.
need_space() {
    free=$(df --output=avail --block-size=1M "$1" | tail -n 1 | tr -d ' ')
    [ "$free" -lt "$2" ] || return 0
    printf '%s\n' "no space: $1 has $free MiB free, $2 MiB are needed: $(($2 - free)) MiB are missing" >&2
    [ "$(stat --format=%d "$1")" = "$(stat --format=%d "$POOL")" ] || exit 90
    exit 92
}

attach_image() { # NAME MIB: sets DEVICE, a loop device on a new image file in the area
    need_space "$AREA" $(($2 + 64))
    # A second device on the same image would be formatted below the file system that is mounted.
    (set -C && : >"$AREA/$1.img") 2>/dev/null || refuse "the image $AREA/$1.img is there already"
    fallocate --length "$2MiB" "$AREA/$1.img"
    DEVICE=$(losetup --find --show --direct-io=on "$AREA/$1.img" 2>/dev/null) || DEVICE=$(losetup --find --show "$AREA/$1.img")
    [ "$(cat "/sys/block/${DEVICE#/dev/}/loop/backing_file")" = "$AREA/$1.img" ] || refuse "$DEVICE is not the image of this run"
}

# DEVICE COMMAND...: LVM, which sees nothing but this device of ours, whatever else the machine has.
lvm_on() {
    only="devices { use_devicesfile=0 filter=[ \"a|^$1\$|\", \"r|.*|\" ] }"
    shift
    lvm "$@" --config "$only"
}

make_file_system() { # FS DEVICE [JOURNAL]: a loop device of KDB's, which holds the journal then
    if grep -q "^$2 " /proc/self/mounts /proc/swaps; then refuse "$2 is in use"; fi
    if [ -n "${3:-}" ]; then
        first_line "/sys/block/${3#/dev/}/loop/backing_file"
        case $LINE in */.kdb/journal.img) ;; *) refuse "$3 is not a device for a journal that KDB made" ;; esac
    fi
    case $1${3:+-journal} in
    ext4) mkfs.ext4 -q -F "$2" ;;
    ext4-journal)
        mkfs.ext4 -q -F -b 4096 -O journal_dev "$3"
        mkfs.ext4 -q -F -b 4096 -J device="$3" "$2"
        ;;
    xfs) mkfs.xfs -q -f "$2" ;;
    xfs-journal) mkfs.xfs -q -f -l logdev="$3" "$2" ;;
    btrfs) mkfs.btrfs -q -f "$2" ;;
    *) refuse "$1 is not a file system that KDB makes${3:+ with its journal apart}" ;;
    esac >/dev/null
}

mount_here() { # FS DEVICE POINT [OPTION]
    mkdir "$3"
    options=${4:-defaults}
    # Btrfs would discard in the background, and nothing else here does unless it is told to.
    case $1-$options in btrfs-discard) ;; btrfs-*) options=$options,nodiscard ;; esac
    mount -t "$1" -o "$options" "$2" "$3"
    # The number of a loop device says nothing, and is another one in each run.
    say mount_options "$(awk -v point="$3" '$2 == point { sub(/logdev=[^,]*/, "logdev"); print $4 }' /proc/self/mounts)"
    say mkfs "$(mkfs."$1" -V 2>&1 | head -n 1)"
}

# FOLDER of a disk in /sys/block. SCSI and ATA tell it in page 0x80, after four bytes of its head. Xen's disks have none:
# there it is the place that the configuration gives the disk under test, xvdf, by its number (xen-vbd-interface(7)).
serial_of() {
    case $(readlink "$1/device") in */vbd-51792) echo kdb-under-test && return ;; esac
    if [ -f "$1/serial" ]; then
        cat "$1/serial"
    elif [ -f "$1/device/vpd_pg80" ]; then
        tail -c +5 "$1/device/vpd_pg80" | tr -d ' \000'
    fi
}

storage_errors() {
    dmesg 2>/dev/null | grep -Ec 'I/O error|EXT4-fs error|XFS .*([Ee]rror|[Cc]orruption)|BTRFS (error|critical)|Buffer I/O' || true
}

version_of() { # KEY COMMAND...
    key=$1
    shift
    if command -v "$1" >/dev/null 2>&1; then say "$key" "$("$@" 2>&1 </dev/null | grep -v '^ *$' | head -n 1)"; fi
}

# PROGRAM: 1.4 says its version only when it runs something.
filebench_version() {
    script=$(mktemp)
    echo quit >"$script"
    timeout 10 "$1" -f "$script" 2>&1 | sed -n 's/^.*Filebench Version \([^ ]*\).*$/\1/p' | head -n 1
    rm -f "$script"
}

# FOLDER: whether manage.py install_filebench made it.
is_filebench() { [ -f "$1/SHA256SUMS" ] && [ -n "$(find "$1" -maxdepth 0 -type d -user "$(id -u)")" ]; }
is_intact() { (cd "$1" && sha256sum --check --strict --status SHA256SUMS); }

# POOL: sets TREE, the Filebench of this pool, for one caller at a time.
open_filebench() {
    open_pool "$1"
    TREE=$POOL/.kdb-filebench
    exec 9<"$POOL"
    flock --wait 30 9 || refuse "another installation is under way in $POOL"
    if { [ -e "$TREE" ] || [ -L "$TREE" ]; } && ! is_filebench "$TREE"; then
        refuse "$TREE is there and is not KDB's: move it away"
    fi
}
# What a broken installation left.
remove_unfinished() {
    find "$POOL" -maxdepth 1 -type d -user "$(id -u)" \( -name .kdb-filebench.new -o -name .kdb-filebench.old \) |
        while read -r folder; do
            rm -rf "$folder"
            say removed "$folder"
        done
}

verb=$1
shift
MAKERS=
case $verb in
begin) # POOL TOKEN [MAKER]...: an empty area, whatever was there before; MAKERs are asked for virtual machines of it
    pool=$1 token=$2
    shift 2
    MAKERS=$*
    open_area "$pool" "$token"
    clean_area
    refuse_left_overs
    need_space "$POOL" 1
    set -- "$pool" "$token"
    mkdir "$AREA"
    [ -z "$KDB" ] || echo "$KDB" >"$AREA/kdb" || true # the disk is full, and the next line fails as well
    echo "$2" >"$AREA/token"
    : >"$AREA/domains"
    storage_errors >"$AREA/errors"
    ;;
clean) # POOL TOKEN
    open_area "$1" "$2"
    clean_area
    ;;
ready) # POOL MIB [MAKER]...: whether a run that needs as much could begin
    pool=$1 mib=$2
    shift 2
    MAKERS=$*
    open_pool "$pool"
    if [ -d "$AREA" ]; then # the next attempt ends what is there; only MAKERs must answer
        asked_guests >/dev/null
    else
        refuse_left_overs
        need_space "$POOL" "$mib"
    fi
    ;;
room) # POOL MIB: whether as much is free
    open_pool "$1"
    need_space "$POOL" "$2"
    ;;
left | clear) # POOL [MAKER]...: what is left of runs and no area knows, a line each; `clear` takes it away first
    POOL=$1
    shift
    MAKERS=$*
    against_path "$POOL"
    [ -z "$WHY" ] || refuse "$WHY"
    AREA=$POOL/.kdb
    if [ "$verb" = clear ]; then
        refuse_anothers
        clear_away
    fi
    if ! is_ours || [ ! -f "$AREA/token" ]; then left_overs; fi
    ;;
make-fs) # POOL TOKEN NAME MIB FS [COMPRESSION [JOURNAL]]: a file system in an image file, mounted at AREA/NAME
    own_area "$1" "$2"
    plain "$3"
    case $5-${6:-off} in
    *-off) option= ;;
    btrfs-zstd | btrfs-lzo | btrfs-zlib) option=compress=$6 ;;
    *) refuse "$5 with $6 is not a file system that KDB makes" ;;
    esac
    [ "$5" != xfs ] || option=${7:+logdev=$7}
    attach_image "$3" "$4"
    make_file_system "$5" "$DEVICE" ${7:+"$7"}
    mount_here "$5" "$DEVICE" "$AREA/$3" ${option:+"$option"}
    ;;
make-folder) # POOL TOKEN NAME FS [MIB]: a folder on the file system of the pool itself, which must be FS
    own_area "$1" "$2"
    plain "$3"
    [ "$(stat --file-system --format=%T "$POOL" | sed 's|ext2/ext3|ext4|')" = "$4" ] || refuse "$POOL is not on $4"
    need_space "$AREA" "${5:-0}"
    mkdir "$AREA/$3"
    say mount_options "$(findmnt --noheadings --output OPTIONS --target "$AREA")"
    ;;
make-image) # POOL TOKEN FOLDER NAME MIB FORMAT ALLOCATION CLUSTER: a disk for a virtual machine; CLUSTER of qcow2, in bytes
    own_area "$1" "$2"
    plain "$3"
    plain "$4"
    need_space "$AREA/$3" "$5" # also where it is sparse: it may fill up
    file=$AREA/$3/$4.img
    case $6-$7 in
    raw-sparse) truncate --size "$5M" "$file" ;;
    raw-falloc) fallocate --length "$5MiB" "$file" ;;
    raw-full) dd if=/dev/zero of="$file" bs=1M count="$5" conv=fsync status=none ;;
    qcow2-sparse) qemu-img create -q -f qcow2 -o cluster_size="$8" "$file" "$5M" ;;
    qcow2-metadata | qcow2-falloc | qcow2-full)
        qemu-img create -q -f qcow2 -o preallocation="$7",cluster_size="$8" "$file" "$5M"
        ;;
    *) refuse "$6, $7 is not an image that KDB makes" ;;
    esac
    say path "$file"
    ;;
make-overlay) # POOL TOKEN NAME FILE: a writable layer over FILE, which stays as it is
    own_area "$1" "$2"
    plain "$3"
    qemu-img create -q -f qcow2 -b "$4" -F raw "$AREA/$3"
    say path "$AREA/$3"
    ;;
make-volume) # POOL TOKEN NAME MIB KIND: a block device for a virtual machine, on an image file in the area
    own_area "$1" "$2"
    plain "$3"
    case $5 in
    raw)
        attach_image "$3" "$4"
        say path "$DEVICE"
        ;;
    lvm)
        attach_image "$3" $(($4 + 16)) # beside what LVM writes of itself
        group=kdb_$2_$3
        lvm_on "$DEVICE" vgcreate --quiet "$group" "$DEVICE" >/dev/null
        lvm_on "$DEVICE" lvcreate --quiet --yes --size "$4m" --name disk "$group" >/dev/null
        say path "/dev/$group/disk"
        ;;
    *) refuse "$5 is not a volume that KDB makes" ;;
    esac
    ;;
format-disk) # POOL TOKEN NAME SERIAL FS [discard]: the disk that the campaign gave this virtual machine
    own_area "$1" "$2"
    plain "$3"
    plain "$4" # many disks have an empty one
    device=
    for module in virtio_scsi ahci ata_piix sd_mod; do modprobe --quiet "$module" || true; done # for other buses than virtio
    rest=20
    while [ -z "$device" ] && [ "$rest" -gt 0 ]; do
        for disk in /sys/block/*; do
            if [ "$(serial_of "$disk")" = "$4" ]; then device=/dev/${disk##*/}; fi
        done
        rest=$((rest - 1))
        [ -n "$device" ] || sleep 0.1
    done
    [ -n "$device" ] || refuse "no disk with the serial number $4 is here"
    make_file_system "$5" "$device"
    mount_here "$5" "$device" "$AREA/$3" ${6:+discard}
    ;;
put) # POOL TOKEN NAME TEXT [NAME TEXT]...
    own_area "$1" "$2"
    shift 2
    while [ $# -gt 0 ]; do
        plain "$1"
        printf '%s' "$2" >"$AREA/$1"
        shift 2
    done
    ;;
note-domain) # POOL TOKEN DOMAIN: before it is defined
    own_area "$1" "$2"
    plain "$3"
    if virsh -c qemu:///system domid "$3" >/dev/null 2>&1; then # of another KDB, in another pool
        silent "a virtual machine $3 is there already, and is not this campaign's"
    fi
    echo "$3" >>"$AREA/domains"
    sync "$AREA/domains"
    ;;
give) # POOL TOKEN USER:GROUP PATH... -- PATH...: the first of the area, or its devices, to who runs guests; the rest they read
    own_area "$1" "$2"
    owner=$3
    shift 3
    chmod 711 "$AREA" # they pass through
    for path in "$@"; do
        [ "$path" != -- ] || break
        case $path in
        "$AREA"/*)
            [ -e "$path" ] || : >"$path"
            chmod 711 "$(dirname "$path")"
            chown "$owner" "$path"
            ;;
        /dev/*) chown "${owner%:*}" "$path" ;; # clean_area takes it back
        *) refuse "$path is not in the area" ;;
        esac
    done
    for path in "$@"; do
        [ "$path" != -- ] || continue
        [ -e "$path" ] || refuse "$path is not there"
        barred=$(barred "${owner%:*}" "${owner#*:}" "$path")
        [ -z "$barred" ] || refuse "libvirt runs virtual machines as $(id -un "${owner%:*}"), who may not read $path, because of the rights of $barred"
    done
    ;;
note-proxmox) # POOL TOKEN NUMBER NAME: before it is created, and only where nobody has the number
    own_area "$1" "$2"
    case $3 in 9[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]) ;; *) refuse "$3 is no number of a campaign's machine" ;; esac
    plain "$4"
    if config=$(qm config "$3" 2>&1); then refuse "the number $3 is that of somebody's virtual machine"; fi
    case $config in *"does not exist"*) ;; *) refuse "Proxmox VE does not say whether $3 is free: $config" ;; esac
    echo "$3 $4" >>"$AREA/proxmox"
    sync "$AREA/proxmox"
    ;;
start-xen) # POOL TOKEN NAME UUID CONSOLE: the machine of the configuration on standard input, noted before it is created
    own_area "$1" "$2"
    plain "$3"
    plain "$4"
    plain "$5"
    cat >"$AREA/$3.cfg"
    # Xen runs it for the interface: up, with a link-local address and in no bridge.
    cat >"$AREA/vif" <<'EOF'
#!/bin/sh
[ "$1" = online ] || exit 0
echo 0 >"/proc/sys/net/ipv6/conf/$vif/disable_ipv6" || exit 1
ip link set dev "$vif" up && xenstore-write "$XENBUS_PATH/hotplug-status" connected
EOF
    chmod 700 "$AREA/vif"
    echo "$4 $3" >>"$AREA/xen"
    sync "$AREA/xen"
    # It writes down itself who it is: a clean-up ends it, or it finds no configuration where it comes too late.
    # shellcheck disable=SC2016 # that shell expands it
    if ! why=$(sh -c '
        echo "$$ $(cut -d " " -f 22 "/proc/$$/stat")" >"$1/xl.pid"
        exec xl create -q "$1/$2.cfg"
    ' kdb-create "$AREA" "$3" 2>&1 </dev/null); then
        said=$(tail -n 1 "/var/log/xen/qemu-dm-$3.log" 2>/dev/null) || true
        refuse "the virtual machine $3 does not start: $(printf '%s' "$why" | tr '\n' ' ') $said"
    fi
    # It ends with the machine, or with its input: a pipe that is open for writing, too, has no end.
    mkfifo "$AREA/$5.input"
    exec 9<>"$AREA/$5.input"
    rm "$AREA/$5.input"
    setsid xl console "$3" <&9 >"$AREA/$5" 2>/dev/null &
    until [ -e "$AREA/$5" ]; do sleep 0.1; done
    ;;
drop-caches)
    sync
    if [ -w /proc/sys/vm/drop_caches ]; then echo 3 >/proc/sys/vm/drop_caches; else say kept yes; fi
    ;;
limit-memory) # POOL TOKEN MIB: what is started from now on may use no more, its files in the page cache included
    own_area "$1" "$2"
    drop_group # of the same call, whose answer was lost
    limit_memory "$3" "$AREA/group" || refuse "the memory of a benchmark cannot be limited here"
    ;;
start) # POOL TOKEN NAME SECONDS EVERY FOLDER COMMAND...: detached; it comes to the barrier of NAME and waits for `go`
    # From then on it is written down each EVERY seconds how much its processes have read and written by now.
    own_area "$1" "$2"
    plain "$3"
    name=$AREA/$3 seconds=$4 every=$5 folder=$AREA/$6
    shift 6
    mkfifo "$name.go" "$name.passed"
    : >"$name.samples"
    # shellcheck disable=SC2016 # that shell expands it
    setsid sh -c '
        name=$1 seconds=$2 every=$3 area=$4
        cd "$5"
        shift 5
        if [ -f "$area/group" ]; then
            read -r group <"$area/group"
            # Without its limit it would be measured in memory, and filed as if it was not.
            echo $$ >"$group/cgroup.procs" || { echo 125 >"$name.ended"; mv "$name.ended" "$name.status"; exit 1; }
        fi
        (
            read -r _ <"$name.passed"
            looks=0
            while :; do
                looks=$((looks + 1)) # its processes come in the beginning, or late where the machine is busy
                if [ "$looks" -le 4 ] || [ $((looks % 4)) -eq 0 ]; then
                    files=$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$area/*" -printf "%h/io " 2>/dev/null)
                fi
                read -r up _ </proc/uptime
                { echo "at $up"; grep -Hs "^[rw]char" $files; } >>"$name.samples"
                sleep "$every"
            done
        ) </dev/null >/dev/null 2>&1 &
        status=0
        timeout --kill-after=5 "$seconds" "$@" >"$name.out" 2>"$name.err" </dev/null || status=$?
        kill $! && wait $! || true
        echo "$status" >"$name.ended"
        mv "$name.ended" "$name.status"
        exec sleep 600 # what the benchmark used is counted as long as who started it lives
    ' kdb-run "$name" "$seconds" "$every" "$AREA" "$folder" "$@" </dev/null >/dev/null 2>&1 &
    echo "$! $(start_time $!)" >"$name.pid"
    ;;
arm) # POOL TOKEN NAME COMMAND...: the last before `go`: what COMMAND needs is in memory then; as `usage`
    own_area "$1" "$2"
    plain "$3"
    shift 3
    [ $# -eq 0 ] || "$@" >/dev/null
    usage
    ;;
usage) # POOL TOKEN: what was used since the machine started, by us and by others
    own_area "$1" "$2"
    usage
    ;;
go) # POOL TOKEN NAME AT: in hundredths of a second since the machine started; 0 is at once
    own_area "$1" "$2"
    plain "$3"
    echo "$4" 1<>"$AREA/$3.go"
    ;;
poll) # POOL TOKEN NAME
    own_area "$1" "$2"
    plain "$3"
    # Whether it lives is asked first: it may end between the two questions, and then its status is there.
    if leader "$AREA/$3.pid" >/dev/null; then state=running; else state=gone; fi
    if [ -f "$AREA/$3.status" ]; then
        state=exited
        first_line "$AREA/$3.status"
        say status "$LINE"
    fi
    say state "$state"
    [ ! -e "$AREA/$3.ready" ] || say ready yes
    first_line "$AREA/$3.began"
    [ -z "$LINE" ] || say began "$LINE"
    say wall "$(date +%s.%N)"
    read -r up _ </proc/uptime
    say up "$up"
    # The kernel's log is the dearest: while the benchmark runs it is read every few seconds.
    first_line "$AREA/errors.seen"
    at=${LINE% *} seen=${LINE#* }
    if [ -z "$LINE" ] || [ "$state" != running ] || [ $((${up%.*} - at)) -ge 5 ]; then
        first_line "$AREA/errors"
        seen=$(($(storage_errors) - LINE))
        echo "${up%.*} $seen" >"$AREA/errors.seen" || true # the disk is full
    fi
    say errors "$seen"
    ;;
output) # POOL TOKEN FILE: its first 16 MiB
    own_area "$1" "$2"
    plain "$3"
    head -c 16777216 "$AREA/$3"
    ;;
facts) # POOL...
    say kernel "$(uname -r)"
    say machine "$(uname -m)"
    # Which machine it is; the id itself is its own secret (machine-id(5)).
    [ ! -s /etc/machine-id ] || say machine_id "$(sed 's/^/kdb /' /etc/machine-id | sha256sum | cut -c 1-32)"
    say distribution "$(. /etc/os-release && echo "$PRETTY_NAME")"
    say distribution_id "$(. /etc/os-release && echo "$ID")"
    say distribution_version "$(. /etc/os-release && echo "${VERSION_ID:-}")"
    say cpu "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
    say cores "$(getconf _NPROCESSORS_ONLN)"
    say ram_mib "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)"
    say load "$(cut -d ' ' -f 1-3 /proc/loadavg)"
    say root "$(id -u)"
    if [ -r /sys/class/dmi/id/product_name ]; then
        say model "$(cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name 2>/dev/null | tr '\n' ' ' | sed 's/ *$//')"
    fi
    [ ! -c /dev/kvm ] || say kvm yes
    if limit_memory 64 2>/dev/null; then limits=yes; else limits=; fi
    [ ! -d "${GROUP:-}" ] || rmdir "$GROUP"
    [ -z "$limits" ] || say limits_memory yes
    # A container has none unless it was given some. Only root may look.
    if [ "$(id -u)" = 0 ] && command -v losetup >/dev/null 2>&1 && [ ! -b "$(losetup --find 2>/dev/null)" ]; then say missing "loop devices"; fi
    if grep -qw device-mapper /proc/misc; then say device_mapper yes; fi
    if command -v systemd-detect-virt >/dev/null 2>&1; then say inside "$(systemd-detect-virt || true)"; fi
    filebench=filebench
    for pool in "$@"; do
        against_pool "$pool"
        if [ -z "$WHY" ] && is_filebench "$pool/.kdb-filebench" && is_intact "$pool/.kdb-filebench"; then
            filebench=$pool/.kdb-filebench/bin/filebench
            break
        fi
    done
    for program in losetup fallocate setsid timeout findmnt mkfs.ext4 mkfs.xfs mkfs.btrfs fio "$filebench" virsh qemu-img lvm; do
        command -v "$program" >/dev/null 2>&1 || say missing "$program"
    done
    version_of fio fio --version
    version_of pve pveversion
    if command -v xl >/dev/null 2>&1 && said=$(xl info 2>/dev/null); then
        # Processors and memory of the machine, not of the domain that we are in.
        printf '%s\n' "$said" | sed -n 's/^xen_version *: /xen\t/p; s/^xen_caps *: /xen_caps\t/p
            s/^nr_cpus *: \([0-9]\{1,9\}\)$/cores\t\1/p; s/^total_memory *: \([0-9]\{1,9\}\)$/ram_mib\t\1/p'
    fi
    if command -v "$filebench" >/dev/null 2>&1; then
        say filebench "$(filebench_version "$filebench")"
        say filebench_program "$filebench"
    fi
    version_of mkfs_ext4 mkfs.ext4 -V
    version_of mkfs_xfs mkfs.xfs -V
    version_of mkfs_btrfs mkfs.btrfs -V
    if command -v virsh >/dev/null 2>&1; then
        say libvirt "$(virsh -c qemu:///system version 2>/dev/null | sed -n 's/^Using library: libvirt //p')"
        say running "$(virsh -c qemu:///system version 2>/dev/null | sed -n 's/^Running hypervisor: //p')"
        say uri "$(virsh -c qemu:///system uri 2>/dev/null)"
        say domain_types "$(virsh -c qemu:///system capabilities 2>/dev/null | sed -n "s/.*<domain type='\([a-z]*\)'.*/\1/p" | sort -u | tr '\n' ' ')"
    fi
    for pool in "$@"; do
        against_pool "$pool"
        if [ -n "$WHY" ]; then
            say pool_refused "$pool $WHY"
            continue
        fi
        say pool "$pool $(stat --file-system --format=%T "$pool" | sed 's|ext2/ext3|ext4|') $(df --output=avail --block-size=1M "$pool" | tail -n 1 | tr -d ' ')"
        say pool_options "$pool $(findmnt --noheadings --output OPTIONS --target "$pool")"
        disk=$(findmnt --noheadings --output SOURCE --target "$pool" | sed 's|\[.*||')
        say pool_disk "$pool $(lsblk --noheadings --nodeps --output NAME,MODEL,ROTA,SIZE "$disk" 2>/dev/null | tr -s ' ')"
    done
    ;;
health) # POOL...: what may explain an outlier; nothing is said of what cannot be read
    cpu=/sys/devices/system/cpu
    governors=$(cat $cpu/cpu*/cpufreq/scaling_governor 2>/dev/null | sort -u | tr '\n' ' ')
    [ -z "$governors" ] || say governor "${governors% }"
    if [ -r $cpu/intel_pstate/no_turbo ]; then
        say turbo "$(sed 's/0/on/; s/1/off/' $cpu/intel_pstate/no_turbo)"
    elif [ -r $cpu/cpufreq/boost ]; then
        say turbo "$(sed 's/1/on/; s/0/off/' $cpu/cpufreq/boost)"
    fi
    grep -l '^Vulnerable' $cpu/vulnerabilities/* 2>/dev/null | while read -r file; do say vulnerable "$(basename "$file")"; done
    if grep -qw 'mitigations=off' /proc/cmdline; then say mitigations off; fi
    hottest=$(cat /sys/class/hwmon/hwmon*/temp*_input /sys/class/thermal/thermal_zone*/temp 2>/dev/null | sort -n | tail -n 1)
    [ -z "$hottest" ] || say hottest_millidegrees "$hottest"
    waited=$(sed -n 's/^some .*avg60=\([0-9.]*\) .*/\1/p' /proc/pressure/io 2>/dev/null) || true
    [ -z "$waited" ] || say io_pressure "$waited"
    for pool in "$@"; do
        against_pool "$pool"
        [ -z "$WHY" ] || continue
        say used "$pool $(df --output=pcent "$pool" | tail -n 1 | tr -d ' %')"
        device=$(findmnt --noheadings --output SOURCE --target "$pool" | sed 's|\[.*||')
        if [ "$(stat --file-system --format=%T "$pool")" = ext2/ext3 ]; then
            made=$(dumpe2fs -h "$device" 2>/dev/null | sed -n 's/^Filesystem created: *//p')
            [ -z "$made" ] || say made "$pool $(date -u -d "$made" +%F)"
        fi
        command -v smartctl >/dev/null 2>&1 || continue
        lsblk --noheadings --inverse --list --output NAME,TYPE "$device" 2>/dev/null | awk '$2 == "disk" { print $1 }' | sort -u |
            while read -r disk; do
                said=$(smartctl --json=c --health --attributes "/dev/$disk" 2>/dev/null) || true
                [ -z "$said" ] || say smart "$disk $said"
            done
    done
    ;;
filebench) # POOL: the digest of what is installed there, where nothing of it is missing or changed
    open_filebench "$1"
    if is_filebench "$TREE" && is_intact "$TREE"; then
        say digest "$(sha256sum <"$TREE/SHA256SUMS" | cut -d ' ' -f 1)"
    fi
    ;;
put-filebench) # POOL DIGEST: a tree as tar on standard input; DIGEST of its SHA256SUMS, which has those of all files
    open_filebench "$1"
    [ -n "$(find "$POOL" -maxdepth 0 -user "$(id -u)" ! -perm /022)" ] || refuse "others may write in $POOL: a program there could be exchanged"
    remove_unfinished >/dev/null
    mkdir "$TREE.new"
    tar --extract --no-same-owner --directory "$TREE.new"
    echo "$2  $TREE.new/SHA256SUMS" | sha256sum --check --status || refuse "$TREE: what came is not what was sent"
    is_intact "$TREE.new" || refuse "$TREE: what came is not what was sent"
    sync --file-system "$TREE.new"
    [ ! -d "$TREE" ] || mv -T "$TREE" "$TREE.old"
    mv -T "$TREE.new" "$TREE"
    if [ -z "$(filebench_version "$TREE/bin/filebench")" ]; then # it runs in its own folder only
        why=$("$TREE/bin/filebench" -h 2>&1 </dev/null | head -n 1) || true
        mv -T "$TREE" "$TREE.new"
        [ ! -d "$TREE.old" ] || mv -T "$TREE.old" "$TREE"
        remove_unfinished >/dev/null
        refuse "Filebench does not run here: $why"
    fi
    rm -rf "$TREE.old"
    ;;
remove-filebench) # POOL
    open_filebench "$1"
    remove_unfinished
    [ ! -d "$TREE" ] || mv -T "$TREE" "$TREE.old"
    remove_unfinished
    ;;
raw-speed) # POOL TOKEN MIB: what the disk below does without caches, KiB/s
    own_area "$1" "$2"
    need_space "$AREA" $(($3 + 64))
    fallocate --length "$3MiB" "$AREA/raw.img"
    for direction in write read; do
        line=$(fio --name=raw --filename="$AREA/raw.img" --rw=$direction --bs=1M --size="$3M" --direct=1 --ioengine=psync --runtime=10 --output-format=terse --terse-version=3 2>/dev/null | grep '^3;')
        if [ $direction = read ]; then field=7; else field=48; fi
        say raw_$direction "$(printf '%s' "$line" | cut -d ';' -f $field)"
    done
    rm -f "$AREA/raw.img"
    ;;
calibrate) # POOL TOKEN MIB ROUNDS: a reference load; no figures of a file system that has no direct I/O
    own_area "$1" "$2"
    need_space "$AREA" $(($3 + 64))
    rate() { # NAME AMOUNT COMMAND...
        name=$1 amount=$2
        shift 2
        from=$(date +%s%N)
        "$@" >/dev/null 2>&1 || return 0
        say "$name" "$(awk -v n="$amount" -v ns="$(($(date +%s%N) - from))" 'BEGIN { printf "%.2f", n / ns * 1e9 }')"
    }
    for _ in $(seq "$4"); do
        file=$AREA/reference
        rate write_mib_s "$3" dd if=/dev/zero of="$file" bs=1M count="$3" oflag=direct conv=fsync
        rate read_mib_s "$3" dd if="$file" of=/dev/null bs=1M iflag=direct
        rate sync_writes_s 200 dd if=/dev/zero of="$file" bs=4k count=200 oflag=direct,dsync conv=notrunc
        # shellcheck disable=SC2016 # that shell expands it
        rate hash_mib_s "$3" sh -c 'head -c "$1M" /dev/zero | sha256sum' kdb-hash "$3"
        rm -f "$file"
    done
    ;;
image) # FOLDER: what build_guest_image wrote there
    [ -f "$1/image.json" ] || refuse "$1/image.json is not there: copy what manage.py build_guest_image made to this host"
    cat "$1/image.json"
    ;;
digests) # FOLDER FILE...: of these files in it
    folder=$1
    shift
    for file in "$@"; do
        plain "$file"
        [ -f "$folder/$file" ] || refuse "$folder/$file is not there"
        say "$file" "$(sha256sum <"$folder/$file" | cut -d ' ' -f 1)"
    done
    ;;
read-file) # POOL TOKEN NAME: a console log
    own_area "$1" "$2"
    plain "$3"
    tail -c 20000 "$AREA/$3" 2>/dev/null || true
    ;;
superblocks) # PATH: the kinds of file systems that begin in a disk image, or on its partitions; it is only read
    if kind=$(blkid --probe --match-tag TYPE --output value "$1"); then
        say holds "$kind"
        exit
    fi
    partx --show --noheadings --raw --bytes --output START,SIZE "$1" 2>/dev/null | while read -r start size; do
        if kind=$(blkid --probe --offset $((start * 512)) --size "$size" --match-tag TYPE --output value "$1"); then
            say holds "$kind"
        fi
    done
    ;;
*) refuse "there is no verb $verb" ;;
esac
