# Mail server: P0 table 3 (threads, files, directory width, file size), P3 section 7 (order of operations).
# Sizes of requests and appends, and the share of files made beforehand, are not in the papers.
set $dir=/tmp
set $files=1000
set $directorywidth=1000000
set $messagesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $threads=16
set $readsize=1m
set $appendlimit=16k

define fileset name=messages,path=$dir,size=$messagesize,entries=$files,dirwidth=$directorywidth,prealloc=80

define process name=mailserver,instances=1
{
  thread name=mailbox,memsize=10m,instances=$threads
  {
    flowop deletefile name=remove,filesetname=messages

    flowop createfile name=arrive,filesetname=messages,fd=1
    flowop appendfilerand name=store,iosize=$appendlimit,fd=1
    flowop fsync name=storesync,fd=1
    flowop closefile name=arriveclose,fd=1

    flowop openfile name=fetch,filesetname=messages,fd=1
    flowop readwholefile name=fetchread,iosize=$readsize,fd=1
    flowop appendfilerand name=mark,iosize=$appendlimit,fd=1
    flowop fsync name=marksync,fd=1
    flowop closefile name=fetchclose,fd=1

    flowop openfile name=look,filesetname=messages,fd=1
    flowop readwholefile name=lookread,iosize=$readsize,fd=1
    flowop closefile name=lookclose,fd=1
  }
}

run 60
