# Random file access: P0 table 3 (threads, files, directory width), P3 section 7 (order of operations).
# The papers call the file size random and give no number; here files have 26 KiB in the mean, reads ask for
# 12 KiB and appends for up to 16 KiB.
set $dir=/tmp
set $files=10000
set $directorywidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:26624;gamma:1.5)
set $threads=5
set $readsize=12k
set $appendlimit=16k

define fileset name=tree,path=$dir,size=$filesize,entries=$files,dirwidth=$directorywidth,prealloc=100

define process name=user,instances=1
{
  thread name=access,memsize=10m,instances=$threads
  {
    flowop openfile name=first,filesetname=tree,fd=1
    flowop openfile name=second,filesetname=tree,fd=2
    flowop openfile name=third,filesetname=tree,fd=3
    flowop appendfilerand name=firstappend,iosize=$appendlimit,fd=1
    flowop closefile name=firstclose,fd=1
    flowop readwholefile name=secondread,iosize=$readsize,fd=2
    flowop readwholefile name=thirdread,iosize=$readsize,fd=3
    flowop closefile name=secondclose,fd=2
    flowop closefile name=thirdclose,fd=3
  }
}

run 60
