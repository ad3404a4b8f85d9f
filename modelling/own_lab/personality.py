"""The load of a session as a Filebench personality, from the numbers of which fio's job is formed. No Django."""

from math import gcd

from .content import Load

_TEXT = """\
# A load of kdb measure, which runs the same by fio.
set $dir=/tmp
define fileset name=tree,path=$dir,size={size},entries={entries},dirwidth={entries},prealloc=100
define process name=load,instances=1
{{
  thread name=worker,memsize=10m,instances={threads}
  {{
{flowops}
  }}
}}
run {seconds}
"""


def personality_text(load: Load) -> str:
    """Return the personality. Reads come first, then writes, in the least numbers of the load's share.

    A write that is flushed opens and closes its file where a thread has several; fio keeps them open.
    """
    share = gcd(load.read_percent, 100 - load.read_percent)
    reads, writes = load.read_percent // share, (100 - load.read_percent) // share
    among = ",opennext" * (load.files > 1 and not load.sequential)
    how = "directio" + ",random" * (not load.sequential)
    lines = []
    if reads:
        lines.append(f"read name=read,filesetname=tree,iosize={load.read_bytes},{how}{among},iters={reads}")
    if writes and not (load.fsync_every or load.fdatasync_every):
        lines.append(f"write name=write,filesetname=tree,iosize={load.write_bytes},{how}{among},iters={writes}")
        writes = 0
    for number in range(1, writes + 1):
        many = load.files > 1
        lines += [f"openfile name=open{number},filesetname=tree,fd=1,directio"] * many
        on = "fd=1" if many else "filesetname=tree"
        lines.append(f"write name=write{number},{on},iosize={load.write_bytes},{how}")
        lines.append(f"fsync name=flush{number},{on}")
        lines += [f"closefile name=close{number},fd=1"] * many
    return _TEXT.format(
        size=load.file_bytes,
        entries=load.threads * load.files,
        threads=load.threads,
        flowops="\n".join(f"    flowop {line}" for line in lines),
        seconds=load.seconds,
    )
