# shellcheck shell=sh
# What moving a disk does on a node of Proxmox VE: this text is fixed, only arguments vary.
#
# A move has a journal, /var/lib/kdb-moves/TOKEN: what it asked `qm disk move` for (wish), the volumes that were on the
# storage before (before), what qm says (log) and how it ended (status). qm runs on when the connection ends; it and
# its worker hold the lock of the journal while they live. Answers are lines of "key<TAB>value". Status 90 is a
# refusal, with its reason on stderr. KDB_ROOT stands before the folders of the system.
set -eu
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LVM_SUPPRESS_FD_WARNINGS=1 # it would tell of the journal's lock
export LC_ALL PATH LVM_SUPPRESS_FD_WARNINGS
umask 077
ROOT=${KDB_ROOT:-}
JOURNALS=$ROOT/var/lib/kdb-moves
NODES=$ROOT/etc/pve/nodes
FILES=$ROOT/etc/pve/qemu-server

say() { printf '%s\t%s\n' "$1" "$2"; }
refuse() {
    printf '%s\n' "$1" >&2
    exit 90
}
token() { case $1 in "" | *[!a-z0-9]*) refuse "$1 is no token" ;; esac; }
number() { case $1 in "" | *[!0-9]*) refuse "$1 is no number of a machine" ;; esac; }
volume() { case $1 in *[!A-Za-z0-9_.+:/-]* | -* | *..*) refuse "$1 has characters that a volume here may not have" ;; *:*) ;; *) refuse "$1 is no volume" ;; esac; }
is_alive() { [ -e "$1/lock" ] && ! flock -n "$1/lock" true; }

# STORAGE NUMBER: the disks of a machine on a storage, one a line. Proxmox VE's programs fail with 255, as ssh does.
volumes() {
    listed=$(pvesm list "$1" --vmid "$2" --content images) || refuse "silent: Proxmox VE does not list $1"
    printf '%s\n' "$listed" | awk 'NR > 1 { print $1 }'
}
path_of() { pvesm path "$1" || refuse "silent: Proxmox VE does not say where $1 lies"; }

# Who has VOLUME in a definition, other than as unusedN of machine NUMBER; snapshots and pending changes count.
need_unused() { # VOLUME NUMBER
    for file in "$NODES"/*/qemu-server/*.conf "$NODES"/*/lxc/*.conf; do
        [ -e "$file" ] || continue
        if awk -v own="/$2.conf" -v file="$file" -v volume="$1" '
            /^\[/ { below = 1 }
            {
                value = $0; sub(/^[^:]*: */, "", value); sub(/^file=/, "", value); sub(/,.*/, "", value)
                kept = !below && /^unused[0-9]+:/ && substr(file, length(file) - length(own) + 1) == own
                if (value == volume && !kept) found = 1
            }
            END { exit !found }' "$file"; then
            refuse "used: $1 is used in $(basename "$file")"
        fi
    done
}

verb=$1
shift
case $verb in
look) # TOKEN NUMBER: the machine's file, whether it runs, and the journal
    token "$1" && number "$2"
    journal=$JOURNALS/$1
    # First whether the task lives: what stands in the file after its end is what it left.
    if is_alive "$journal"; then say alive yes; fi
    file=$FILES/$2.conf
    if [ -e "$file" ]; then
        say digest "$(sha1sum "$file" | cut -d ' ' -f 1)"
        sed '/^#/d; s/^/conf\t/' "$file"
    else
        [ -d "$NODES" ] || refuse "silent: the cluster's file system is not there ($NODES)"
        for other in "$NODES"/*/qemu-server/"$2.conf"; do
            [ ! -e "$other" ] || say node "$(basename "$(dirname "$(dirname "$other")")")"
        done
    fi
    pid=$(cat "$ROOT/run/qemu-server/$2.pid" 2>/dev/null || true)
    case $pid in "" | *[!0-9]*) ;; *) [ ! -d "/proc/$pid" ] || say running "$pid" ;; esac
    if [ -e "$journal/wish" ]; then
        say began "$(cat "$journal/wish")"
        [ ! -e "$journal/status" ] || say status "$(cat "$journal/status")"
        sed 's/^/before\t/' "$journal/before"
        tr '\r\000' '\n ' <"$journal/log" | grep -F 'allocated target volume' | cut -c 1-500 | sed 's/^/log\t/' || true
        tail -c 4000 "$journal/log" | tr '\r\000' '\n ' | tail -n 20 | cut -c 1-500 | sed 's/^/log\t/'
    fi
    ;;
begin) # TOKEN NUMBER DISK STORAGE FORMAT KIBS DIGEST: have Proxmox VE move it, by a program that outlives us
    token "$1" && number "$2"
    journal=$JOURNALS/$1
    mkdir -p "$journal"
    exec 9>>"$journal/lock"
    flock -n 9 || refuse "busy: Proxmox VE is at this move"
    [ ! -e "$journal/wish" ] || refuse "busy: an attempt at this move was not taken back"
    volumes "$4" "$2" >"$journal/before"
    : >"$journal/log"
    rm -f "$journal/status"
    printf '%s %s %s %s\n' "$2" "$3" "$4" "$(cat "$ROOT/run/qemu-server/$2.pid")" >"$journal/wish.new"
    mv "$journal/wish.new" "$journal/wish"
    sync "$journal/wish" "$journal/before" "$journal"
    # shellcheck disable=SC2016
    setsid sh -c '
        trap : TERM
        journal=$1 kibs=$2; shift 2
        [ "$kibs" = 0 ] || set -- "$@" --bwlimit "$kibs"
        status=0
        sh -c "echo \$\$ >\"\$0/pid\"; exec \"\$@\"" "$journal" "$@" || status=$?
        echo "$status" >"$journal/status.new" && mv "$journal/status.new" "$journal/status"
    ' kdb-move "$journal" "$6" qm disk move "$2" "$3" "$4" --format "$5" --digest "$7" >"$journal/log" 2>&1 </dev/null &
    ;;
stop) # TOKEN: have the task end as Proxmox VE ends one: its block job is cancelled and what it made is removed
    token "$1"
    journal=$JOURNALS/$1
    is_alive "$journal" || exit 0
    own=$(readlink -f "$journal/lock")
    holders=$(find /proc/[0-9]*/fd -lname "$own" -printf '%h\n' 2>/dev/null | cut -d / -f 3 | sort -u)
    # One signal, to qm, which hands it to its worker: a second one would end the worker while it cleans up.
    main=$(cat "$journal/pid" 2>/dev/null || true)
    for pid in $holders; do [ "$pid" != "$main" ] || holders=$main; done
    for pid in $holders; do kill -TERM "$pid" 2>/dev/null || true; done
    flock -w 60 "$journal/lock" true || refuse "busy: the task of Proxmox VE does not end"
    ;;
volumes) # STORAGE NUMBER
    number "$2"
    volumes "$1" "$2"
    ;;
path) # VOLUME
    volume "$1"
    path_of "$1"
    ;;
free) # TOKEN NUMBER VOLUME: remove what this move made and no machine has
    token "$1" && number "$2" && volume "$3"
    journal=$JOURNALS/$1
    ! is_alive "$journal" || refuse "busy: Proxmox VE is at this move"
    ! grep -Fxq -- "$3" "$journal/before" || refuse "$3 was there before the move"
    grep -Fq -- "allocated target volume '$3'" "$journal/log" || refuse "$3 is not surely of this move"
    need_unused "$3" 0
    place=$(path_of "$3")
    case $place in /*) place=$(readlink -f "$place") ;; esac
    holders=$(find /proc/[0-9]*/fd -lname "$place" -printf '%h\n' 2>/dev/null | cut -d / -f 3 | sort -u | tr '\n' ' ')
    [ -z "$holders" ] || refuse "held: $3 is still open in the processes $holders"
    told=$(pvesm free "$3" 2>&1) || refuse "refused: $(printf '%s' "$told" | tail -n 1)"
    ;;
unlink) # NUMBER VOLUME KEY DIGEST: remove the volume that a machine keeps as unusedN
    number "$1" && volume "$2"
    case ${3#unused} in "$3" | "" | *[!0-9]*) refuse "$3 is no unused disk" ;; esac
    [ "$(sed -n '/^\[/q; s/^'"$3"': *//p' "$FILES/$1.conf")" = "$2" ] || refuse "changed: $3 is not $2 any more"
    need_unused "$2" "$1"
    told=$(qm set "$1" --delete "$3" --digest "$4" 2>&1) || refuse "refused: $(printf '%s' "$told" | tail -n 1)"
    ;;
forget) # TOKEN
    token "$1"
    ! is_alive "$JOURNALS/$1" || refuse "busy: Proxmox VE is at this move"
    rm -rf -- "${JOURNALS:?}/$1"
    ;;
*) refuse "no verb $verb" ;;
esac
