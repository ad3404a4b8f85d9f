"""Reasons why a host cannot be used, and ways on: one table of what OpenSSH, sudo, login shells and KDB say.

The first row whose pattern is found in a message holds. A message that no row knows stands alone.
"""

import re
from dataclasses import dataclass

from experiments.models import Host


@dataclass(frozen=True)
class Diagnosis:
    """cause : what is the matter, in plain words; next_step : what a person does about it, and where"""

    cause: str
    next_step: str


_TRY = "On the worker's machine, try ssh -p {port} {login}@{address} true"

# Pattern, cause, next step; {address}, {port}, {login}, {key} and {queue} are the host's.
_TABLE = (
    (
        r"cannot be reached\.",
        "There is no connection to {address}: the worker's name server does not know the name, the machine is off, "
        "nothing listens on port {port}, or a firewall drops what comes from the worker.",
        _TRY + ": it says which. An IP address needs no name server; Debian's SSH server is openssh-server; a worker "
        "inside the host's network may do its runs: give the host that laboratory's name.",
    ),
    (
        r"answers, but not as an SSH server",
        "Something answers on port {port} and hangs up, limits who may connect, is still starting, or is no SSH server "
        "with a key that is taken (Ed25519, ECDSA, RSA).",
        "On the machine, ss -tlnp lists what listens where, and journalctl -u ssh says whom it turned away: fail2ban, "
        "AllowUsers, MaxStartups and hosts.deny are the usual reasons.",
    ),
    (
        r"The runner of .* was not heard",
        "The host's runner does not ask this server: it is not started, or the server or its name is not reached.",
        "On the host: systemctl status kdb-runner, and the last lines of its log. It goes on where it stopped.",
    ),
    (
        r"The runner of .* refuses",
        "The owner of the host did not allow it: it is not in the runner's list there.",
        "Ask the owner to add what is named above to the list, and then: systemctl restart kdb-runner.",
    ),
    (
        r"shows another host key",
        "The machine was installed anew, or another one answers in its place.",
        "Find out which. Compare the fingerprint on the machine itself before you accept the new key.",
    ),
    (
        r"does not let this login in",
        "The machine does not accept this key for {login}.",
        "Append the public key (ssh-keygen -y -f prints it from the private one, {key}) to .ssh/authorized_keys of "
        "{login} there; the file and its folder may be written by {login} only. A key with a passphrase cannot be "
        "used. Where the worker's ssh agent offers too many keys, name one of its folder here.",
    ),
    (
        r"is not reached by HTTPS",
        "Nothing answers by HTTPS at {address} port {port}: the name is not known, the node is off, or a firewall "
        "drops what comes from the worker.",
        "On the worker's machine, try curl -k https://{address}:{port}/ : it says which. On the node, systemctl status "
        "pveproxy; the firewall of Proxmox VE and ALLOW_FROM of /etc/default/pveproxy turn others away.",
    ),
    (
        r"shows another certificate",
        "The certificate was renewed, or another machine answers in the node's place.",
        "Find out which: pvenode cert info on the node prints the fingerprint. Read its key again, and accept the new "
        "one.",
    ),
    (
        r"does not take the token|holds no token of Proxmox VE",
        "Proxmox VE does not know the token in the file {key}, or it has expired.",
        "pveum user token list shows those that there are. Make it anew, and write the one line USER@REALM!NAME=SECRET "
        "into the file, in the folder that KEYS_DIR names.",
    ),
    (
        r"does not allow it to the token",
        "The token's role lacks a privilege, which the message names.",
        "Compare the role with the one in the documentation of observation; pveum user token permissions tells what "
        "the token has. A token with privilege separation needs an ACL of its own.",
    ),
    (
        r"has no key .* in its folder",
        "The private key {key} is not on the worker's machine.",
        "Copy it into the folder that KEYS_DIR names there, with chmod 600, or name another one here.",
    ),
    (
        r"sudo: .*(?:password|terminal|not in the sudoers|not allowed)",
        "{login} may not sudo without a password.",
        'Add the line "{login} ALL=(root) NOPASSWD: ALL" there with visudo -f /etc/sudoers.d/kdb, or log in as root.',
    ),
    (
        r"only root may|cannot create directory .*Permission denied",
        "{login} is not root on the machine.",
        "If it may sudo without a password, say so in the host's record (register_host: --sudo); else log in as root.",
    ),
    (
        r"sudo: (?:command )?not found|Unknown command: sudo|sudo: Command not found",
        "The machine has no sudo.",
        "Install it, or log in as root without sudo.",
    ),
    (
        r"currently not available|nologin|: status 1$|restricted|rbash",
        "{login} may log in and run no commands: its login shell ends at once, or is a restricted one.",
        "Give it an ordinary shell there: usermod --shell /bin/sh {login}.",
    ),
    (
        r"Unmatched '''|Command not found\.|Undefined variable|Illegal variable name|fish: |Badly placed",
        "The login shell of {login} (csh, tcsh, or another one of its own language) takes our commands apart.",
        "Give it an ordinary shell there: usermod --shell /bin/sh {login}. Other people's logins stay as they are.",
    ),
    (
        r"did not answer within",
        "Logging in, or the command after it, took too long.",
        _TRY + ": more than two seconds come from name service (UseDNS no), a home folder on the network, a shell that "
        "loads much (.bashrc, config.fish), or a machine that is busy.",
    ),
    (
        r"sent more than",
        "The login prints text of its own between our answers.",
        "Let the shell's start files of {login} print nothing where nobody types (in bash: return early unless $PS1).",
    ),
    (
        r"is there and is not KDB's|is not a folder of this machine|belongs to the system|through a symbolic link",
        "A storage pool is not what it was said to be.",
        "Make the folder, or correct the path: an absolute path to a folder of its own, without symbolic links.",
    ),
    (
        r"(?:qm|pvesh|uname|findmnt): not found|unable to find '(?:qm|pvesh)'",
        "The machine is no host of Proxmox VE, or its programs are not where they belong.",
        "Take the driver proxmox and the storages out of its record, or install what is missing (pveversion tells).",
    ),
    (
        r"unable to create VM|is that of somebody's virtual machine",
        "Another machine of this cluster has the number that the run would give.",
        "See with qm config, on the cluster's other nodes too, what it is; KDB touches it in no case. A campaign of "
        "another KDB on the same cluster may have it: let one wait for the other.",
    ),
    (
        r"xl: (?:command )?not found|is no control domain of Xen|cannot init xl context|Xen does not say which",
        "xl does not work on the machine: it is not booted into Xen, or the login may not use it.",
        "Boot it under Xen with its tools installed (on Debian: xen-system-amd64) and see that xl info answers for "
        "{login}; else take the driver xen out of its record.",
    ),
    (
        r"failed to free memory for the domain|not enough memory|Out of memory.{0,40}domain",
        "Xen has no memory left for the virtual machine.",
        "See free_memory of xl info there; give the control domain less (dom0_mem on Xen's command line), or plan "
        "smaller or fewer machines.",
    ),
    (
        r"aio=native was specified",
        "The QEMU of this Xen is built without Linux AIO (Debian's is), so it opens no image past the cache.",
        "Plan with cache mode writeback and I/O mode threads, or put the disks on volumes, which it does not serve.",
    ),
    (
        r"/\.kdb/vif",
        "The interface of a virtual machine of Xen did not come up in the control domain.",
        "Its kernel needs IPv6 (not ipv6.disable=1), ip and xenstore-write must be there, and programs in the pool "
        "must be allowed to run (no noexec). /var/log/xen has more.",
    ),
    (
        r"left-overs of KDB|the area of a run under way|This stays on|Earlier runs left on|cannot unmount|"
        r"(?:devices|machines|processes) stay",
        "KDB's folder was removed from the storage pool, or what lies in it is in use; what it held runs on.",
        "Clear it on the host's page (or by manage.py clear_host {slug}): nothing is ended but what lies in "
        "that folder. Then the campaign goes on by itself.",
    ),
    (
        r"does not say which virtual machines are there|Proxmox VE does not say|ipcc_send_rec|end of file while|failed "
        r"to connect to the hypervisor|libvirt-sock|virtqemud-sock",
        "What runs virtual machines there does not answer.",
        "Start it there (for libvirt: systemctl start libvirtd, or virtqemud; virsh -c qemu:///system list must "
        "answer). Then the campaign goes on by itself.",
    ),
    (
        r"the database could not be used",
        "KDB's own database was locked or away for minutes; no run was lost by it.",
        "See what held it (on SQLite a long import or another server on the same file), and let the campaign go on.",
    ),
    (
        r"image.json is not there|not what was made|is not what build_guest_image",
        "The folder of the guest image is not, or not wholly, what was made.",
        "Copy the folder that build_guest_image made to the machine again, with all its files, and see that the host's "
        "record names it.",
    ),
    (
        r"No virtual machine comes up",
        "The hypervisor is there and starts no guest of ours.",
        "On the machine, virsh -c qemu:///system list (xl list, qm list) must work for {login}; for libvirt /dev/kvm "
        "must be there, and the folder of the guest image readable for libvirt's user.",
    ),
    (
        r"Given up after|ended without a result",
        "Workers died, or were stopped, while they talked to the machine.",
        "Look at the worker's log; then ask again. A worker of this laboratory is started so: celery --app kdb worker "
        "--queues {queue}.",
    ),
)


def diagnose(message: str, host: Host) -> Diagnosis | None:
    """Return the cause behind a message about a host and the next step; None where no row of the table knows it."""
    about = {
        "address": host.address or "the host",
        "port": host.port,
        "login": host.login,
        "key": host.key_name or "of the worker's ssh agent",
        "queue": host.queue,
        "slug": host.slug,
    }
    for pattern, cause, next_step in _TABLE:
        if re.search(pattern, message):
            return Diagnosis(cause.format(**about), next_step.format(**about))
    return None


def with_diagnosis(message: str, host: Host) -> str:
    """Return the message with its cause and the next step, for terminals."""
    way = diagnose(message, host)
    return f"{message}\n{way.cause}\n{way.next_step}" if way else message
