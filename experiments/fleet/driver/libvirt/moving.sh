# shellcheck shell=sh
# What moving a disk does on its host beside virsh alone: this text is fixed, only arguments vary.
#
# Paths have no blank and no character that a shell or a pattern reads. TOKEN is the move's: only what has it in its
# name is ever removed. One verb of a move works at a time (its lock). Answers are lines of "key<TAB>value". Status 90
# is a refusal, with its reason on stderr.
set -eu
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
umask 077
PATIENCE=${KDB_PATIENCE:-600} # s to wait for a libvirt that does not answer while a machine is paused

say() { printf '%s\t%s\n' "$1" "$2"; }
refuse() {
    printf '%s\n' "$1" >&2
    exit 90
}
lv() { virsh -c qemu:///system --quiet "$@"; }

path() {
    case $1 in
    /*[!A-Za-z0-9_.+/-]* | */../* | */) refuse "$1 has characters that a path here may not have" ;;
    /*) ;;
    *) refuse "$1 is not an absolute path" ;;
    esac
}
own() { case $2 in *"$1"*) ;; *) refuse "$2 is not of the move $1" ;; esac; }

# TOKEN: one verb at a time; a file of /run, because after a restart of the host nothing is paused any more.
lock() {
    case $1 in "" | *[!a-z0-9]*) refuse "$1 is no token" ;; esac
    MARKER=/run/kdb-move-$1
    exec 9>>"$MARKER.lock"
    flock -w 30 9 || refuse "busy: another step of this move is under way on the host"
}

# The image of a disk: now, or with --inactive after a restart. Fails where libvirt does not say.
source_of() { # DOMAIN DISK [--inactive]
    listed=$(lv domblklist "$1" ${3:+"$3"} 2>/dev/null) || return 1
    printf '%s\n' "$listed" | awk -v disk="$2" '$1 == disk { print $2 }'
}

# Who still has PATH: a machine's definition, or an open file. Refuses where it cannot be told.
need_unused() {
    machines=$(lv list --all --uuid) || refuse "libvirt does not say which machines there are"
    for machine in $machines; do
        for which in "" --inactive; do
            listed=$(lv domblklist "$machine" ${which:+"$which"}) || refuse "libvirt does not say what $machine uses"
            if printf '%s\n' "$listed" | awk '{ print $2 }' | grep -Fxq -- "$1"; then refuse "$1 is used by the machine $machine"; fi
        done
    done
    holders=$(find /proc/[0-9]*/fd -lname "$1" -printf '%h\n' 2>/dev/null | cut -d / -f 3 | sort -u | tr '\n' ' ')
    [ -z "$holders" ] || refuse "held: $1 is still open in the processes $holders"
}

set_persistent() { printf '%s' "$3" | lv update-device "$1" /dev/stdin --config >/dev/null && [ "$(source_of "$1" "$2" --inactive)" = "$4" ]; }

copied() { # whether nothing is left to copy
    lv blockjob "$1" "$2" --info --raw 2>/dev/null | awk '{ gsub(" ", ""); split($0, part, "="); found[tolower(part[1])] = part[2] }
        END { exit !(found["end"] != "" && found["end"] > 0 && found["cur"] == found["end"]) }'
}

go_on() { # the machine runs again, if it was us who paused it
    [ -s "$MARKER" ] || return 0
    case $(lv domstate "$1") in
    paused) lv resume "$1" >/dev/null || return 1 ;;
    "") return 1 ;;
    esac
    rm -f "$MARKER"
}

# The machine does nothing while the image under it changes: what it was told is written is then in both images and on
# their disks, so it may die at any point of this and start from either. What is found decides the next step.
settle() { # DOMAIN DISK OLD NEW OLD-XML NEW-XML
    end=$(($(date +%s) + PATIENCE)) pivots=0
    while [ "$(date +%s)" -lt "$end" ]; do
        if ! state=$(lv domstate "$1" 2>/dev/null) || ! now=$(source_of "$1" "$2"); then
            sleep 0.5
            continue
        fi
        case $state in
        "shut off" | crashed)
            rm -f "$MARKER"
            refuse "stopped: the machine was stopped during the switch"
            ;;
        running)
            if [ "$now" = "$4" ] && [ "$(source_of "$1" "$2" --inactive)" = "$4" ]; then
                rm -f "$MARKER"
                say image "$4"
                return
            fi
            echo paused >"$MARKER"
            sync "$MARKER"
            lv suspend "$1" >/dev/null || true
            ;;
        paused)
            [ -s "$MARKER" ] || refuse "paused: the machine was paused by somebody else"
            if [ "$now" = "$4" ]; then
                if set_persistent "$1" "$2" "$6" "$4" && go_on "$1"; then
                    say image "$4"
                    return
                fi
            elif [ "$now" != "$3" ]; then
                refuse "the machine runs from $now, which is neither image"
            elif copied "$1" "$2" && [ "$pivots" -lt 20 ]; then
                sync "$4" && sync "$(dirname "$4")"
                if set_persistent "$1" "$2" "$6" "$4"; then
                    pivots=$((pivots + 1))
                    why=$(lv blockjob "$1" "$2" --pivot 2>&1 >/dev/null) || sleep 0.2
                fi
            elif [ "$pivots" -lt 20 ] && lv blockjob "$1" "$2" --info --raw 2>/dev/null | grep -q .; then
                sleep 0.05 # the last writes are on their way
            elif set_persistent "$1" "$2" "$5" "$3" && go_on "$1"; then
                refuse "ended: the copy ended before the switch ${why:-}"
            fi
            ;;
        *) sleep 0.2 ;;
        esac
    done
    refuse "busy: libvirt did not do the switch within $PATIENCE s"
}

verb=$1
shift
case $verb in
look) # DOMAIN DISK: what libvirt says, in parts that begin with a character that no XML has
    if ! state=$(lv domstate "$1" --reason 2>&1); then
        known=$(lv list --all --uuid) || refuse "libvirt does not answer"
        if printf '%s\n' "$known" | grep -Fxq -- "$1"; then refuse "libvirt: $state"; fi
        refuse "unknown: the host has no machine $1"
    fi
    printf '\001state\n%s\n' "$state"
    case $state in
    "shut off"* | crashed*) ;;
    *)
        printf '\001active\n'
        lv dumpxml "$1"
        printf '\001job\n'
        lv blockjob "$1" "$2" --info --raw 2>/dev/null || true
        ;;
    esac
    printf '\001size\n'
    lv domblkinfo "$1" "$2" 2>/dev/null || true
    if lv list --all --persistent --uuid | grep -Fxq -- "$1"; then
        printf '\001persistent\n'
        lv dumpxml "$1" --inactive
    fi
    printf '\001snapshots\n'
    lv snapshot-list "$1" --name
    ;;
about) # OLD NEW: what the image is, and the place it goes to
    path "$1"
    path "$2"
    [ -f "$1" ] || refuse "$1 is not a plain file"
    folder=$(dirname "$2")
    [ "$(readlink -f "$folder")" = "$folder" ] || refuse "$folder is no folder, or reached through a symbolic link"
    [ -d "$folder" ] || refuse "$folder is not a folder"
    if [ -e "$2" ] || [ -L "$2" ]; then say taken yes; fi
    say size "$(stat -c %s "$1")"
    say allocated $(($(stat -c '%b * %B' "$1")))
    say free "$(df --output=avail --block-size=1 "$folder" | tail -n 1 | tr -d ' ')"
    say host_fs "$(stat --file-system --format=%T "$folder")"
    say attributes "$(lsattr "$1" 2>/dev/null | cut -d ' ' -f 1)"
    if command -v qemu-img >/dev/null 2>&1; then say qemu_img yes; fi
    if dd if=/dev/zero of="$folder/.kdb-direct-$$" bs=4096 count=1 oflag=direct status=none 2>/dev/null; then say direct yes; fi
    rm -f "$folder/.kdb-direct-$$"
    ;;
make) # TOKEN OLD NEW BYTES sparse|full: an empty raw image like the old one, where nothing is
    lock "$1"
    path "$2"
    path "$3"
    own "$1" "$3"
    (set -C && : >"$3") 2>/dev/null || refuse "$3 is there already, or cannot be made"
    chown --reference="$2" "$3" && chmod --reference="$2" "$3"
    case $(lsattr "$2" 2>/dev/null | cut -d ' ' -f 1) in *C*) chattr +C "$3" 2>/dev/null || true ;; esac
    if [ "$5" = sparse ]; then
        truncate --size "$4" "$3"
    else
        fallocate --length "$4" "$3" || {
            rm -f "$3"
            refuse "no space: $3 of $4 bytes"
        }
    fi
    sync "$3" "$(dirname "$3")"
    ;;
make-qcow2) # TOKEN OLD NEW BYTES CLUSTER
    lock "$1"
    path "$2"
    path "$3"
    own "$1" "$3"
    (set -C && : >"$3") 2>/dev/null || refuse "$3 is there already, or cannot be made"
    chown --reference="$2" "$3" && chmod --reference="$2" "$3"
    qemu-img create -q -f qcow2 -o "cluster_size=$5,compat=1.1" "$3" "$4" || refuse "qemu-img makes no $3"
    sync "$3" "$(dirname "$3")"
    ;;
switch) # TOKEN DOMAIN DISK OLD NEW OLD-XML NEW-XML
    lock "$1"
    path "$4"
    path "$5"
    # It goes on when the connection ends: a machine that is paused must not wait for another.
    answer=$(mktemp /run/kdb-move-answer.XXXXXX)
    trap '' HUP PIPE INT TERM
    status=0
    (settle "$2" "$3" "$4" "$5" "$6" "$7") >"$answer" 2>&1 </dev/null || status=$?
    if [ "$status" != 0 ]; then tail -n 1 "$answer" >&2; else cat "$answer"; fi
    rm -f "$answer"
    exit "$status"
    ;;
undo) # TOKEN DOMAIN DISK OLD NEW OLD-XML: back to the old image alone, which it runs from
    lock "$1"
    path "$5"
    own "$1" "$5"
    if state=$(lv domstate "$2") && [ "$state" != "shut off" ]; then
        now=$(source_of "$2" "$3") || refuse "libvirt does not say what $2 runs from"
        [ "$now" = "$4" ] || refuse "switched: the machine runs from $now"
        lv blockjob "$2" "$3" --abort >/dev/null 2>&1 || true
        if lv blockjob "$2" "$3" --info --raw 2>/dev/null | grep -q .; then refuse "busy: the copy does not end"; fi
        if [ "$(source_of "$2" "$3" --inactive)" != "$4" ]; then
            set_persistent "$2" "$3" "$6" "$4" || refuse "libvirt does not take the definition back"
        fi
        go_on "$2" || refuse "busy: the machine does not go on"
    fi
    rm -f "$MARKER"
    if [ -e "$5" ]; then
        need_unused "$5"
        rm -f "$5"
        sync "$(dirname "$5")"
    fi
    ;;
keep) # TOKEN OLD KEPT
    lock "$1"
    path "$2"
    path "$3"
    own "$1" "$3"
    if [ -e "$2" ]; then
        [ ! -e "$3" ] || refuse "$2 and $3 are both there"
        need_unused "$2"
        mv -nT "$2" "$3"
        sync "$(dirname "$3")"
    fi
    [ -e "$3" ] || refuse "gone: neither $2 nor $3 is there"
    ;;
remove) # TOKEN KEPT
    lock "$1"
    path "$2"
    own "$1" "$2"
    if [ -e "$2" ]; then
        need_unused "$2"
        rm -f "$2"
        sync "$(dirname "$2")"
    fi
    rm -f "$MARKER" "$MARKER.lock"
    ;;
*) refuse "there is no verb $verb" ;;
esac
