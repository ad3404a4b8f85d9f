# shellcheck shell=sh
# What manage.py host_setup does on a host, for `sh -s -- VERB ARGUMENT...`: this text is fixed, only arguments vary.
#
# What it changed stands in /var/lib/kdb/setup, a line each, written before the change: `undo` takes back exactly that.
# Answers are lines of "key<TAB>value". Status 90 is a refusal, with its reason on stderr.
set -eu
LC_ALL=C
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
DEBIAN_FRONTEND=noninteractive
export LC_ALL PATH DEBIAN_FRONTEND
umask 022

NOTES=/var/lib/kdb/setup
QEMU_CONF=/etc/libvirt/qemu.conf

say() { printf '%s\t%s\n' "$1" "$2"; }
refuse() {
    printf '%s\n' "$1" >&2
    exit 90
}

manager() {
    for name in apt-get dnf zypper pacman; do
        if command -v "$name" >/dev/null 2>&1; then echo "$name" && return; fi
    done
    refuse "this host has none of apt-get, dnf, zypper, pacman"
}

has_package() {
    case $(manager) in
    apt-get) [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ] ;;
    dnf | zypper) rpm -q --quiet "$1" ;;
    pacman) pacman -Q "$1" >/dev/null 2>&1 ;;
    esac
}

unit_state() { # UNIT: "enabled active", "disabled inactive", "" where there is none
    if command -v systemctl >/dev/null 2>&1 && systemctl cat "$1" >/dev/null 2>&1; then
        echo "$(systemctl is-enabled "$1" 2>/dev/null || true) $(systemctl is-active "$1" 2>/dev/null || true)"
    fi
}

# Takes out the settings that an earlier version wrote, from a line of its own to another; the file is replaced at once.
remove_settings() {
    [ -f "$QEMU_CONF" ] || return 0
    sed '/^# kdb begin$/,/^# kdb end$/d' "$QEMU_CONF" >"$QEMU_CONF.kdb"
    chown --reference="$QEMU_CONF" "$QEMU_CONF.kdb"
    chmod --reference="$QEMU_CONF" "$QEMU_CONF.kdb"
    mv "$QEMU_CONF.kdb" "$QEMU_CONF"
    restart_libvirt
}

restart_libvirt() {
    for unit in virtqemud libvirtd; do
        case $(unit_state $unit) in *" active") systemctl restart $unit ;; esac
    done
}

note() {
    mkdir -p "$NOTES"
    [ -f "$NOTES/done" ] && grep -Fqx "$1" "$NOTES/done" && return
    echo "$1" >>"$NOTES/done"
    sync "$NOTES/done"
}

need_root() { [ "$(id -u)" = 0 ] || refuse "only root may change that: log in as root, or let the login sudo -n"; }

verb=$1
shift
case $verb in
look) # PACKAGE...
    say manager "$(manager)"
    say uid "$(id -u)"
    for package in "$@"; do has_package "$package" || say lacks "$package"; done
    for unit in libvirtd virtqemud; do
        state=$(unit_state $unit)
        [ -z "$state" ] || say unit "$unit $state"
    done
    if grep -qs '^# kdb begin$' "$QEMU_CONF"; then say has_settings yes; fi
    if [ -f "$NOTES/done" ]; then sed 's/^/done\t/' "$NOTES/done"; fi
    ;;
simulate) # PACKAGE...: what the package manager would do, in its own words
    case $(manager) in
    apt-get) apt-get --simulate --no-install-recommends install "$@" ;;
    dnf) dnf --assumeno install "$@" || true ;;
    zypper) zypper --non-interactive install --dry-run "$@" ;;
    pacman) pacman --sync --print "$@" ;;
    esac
    ;;
install) # PACKAGE...
    need_root
    for package in "$@"; do has_package "$package" || note "package $package"; done
    case $(manager) in
    apt-get)
        apt-get -qq update
        apt-get -qq -y --no-install-recommends install "$@"
        ;;
    dnf) dnf -q -y install "$@" ;;
    zypper) zypper --quiet --non-interactive install "$@" ;;
    pacman) pacman --sync --noconfirm --needed "$@" ;;
    esac >&2
    ;;
enable) # UNIT
    need_root
    note "unit $1 $(unit_state "$1")"
    systemctl enable --now "$1" >&2
    ;;
remove-settings)
    need_root
    remove_settings
    if [ -f "$NOTES/done" ]; then sed -i '/^qemu_conf$/d' "$NOTES/done"; fi
    ;;
orphans) # what came with packages that are gone, and nothing needs any more
    [ "$(manager)" != apt-get ] || apt-get --simulate autoremove | sed -n 's/^Remv \([^ ]*\) .*/orphan\t\1/p'
    ;;
undo)
    need_root
    [ -f "$NOTES/done" ] || exit 0
    sed -n '1!G;h;$p' "$NOTES/done" | while read -r kind what was rest; do
        case $kind in
        qemu_conf)
            remove_settings
            say undone "settings of $QEMU_CONF"
            ;;
        unit)
            [ "$was" = enabled ] || systemctl disable "$what" >&2 || true
            [ "$rest" = active ] || systemctl stop "$what" >&2 || true
            say undone "unit $what"
            ;;
        package)
            if has_package "$what"; then
                case $(manager) in
                apt-get) apt-get -qq -y remove "$what" ;;
                dnf) dnf -q -y remove "$what" ;;
                zypper) zypper --quiet --non-interactive remove "$what" ;;
                pacman) pacman --remove --noconfirm "$what" ;;
                esac >&2 </dev/null
            fi
            say undone "package $what"
            ;;
        esac
    done
    rm -f "$NOTES/done"
    rmdir "$NOTES" 2>/dev/null || true
    ;;
*) refuse "there is no verb $verb" ;;
esac
