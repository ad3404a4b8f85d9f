# File server: P0 table 3 (threads, files, directory width, file size), P3 section 7 (order of operations),
# P1 section VI (the second write is an append). Sizes of requests and appends are not in the papers.
set $dir=/tmp
set $files=10000
set $directorywidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
set $threads=50
set $requestsize=1m
set $appendlimit=16k

define fileset name=shared,path=$dir,size=$filesize,entries=$files,dirwidth=$directorywidth,prealloc=80

define process name=fileserver,instances=1
{
  thread name=client,memsize=10m,instances=$threads
  {
    flowop createfile name=make,filesetname=shared,fd=1
    flowop writewholefile name=fill,iosize=$requestsize,srcfd=1,fd=1
    flowop closefile name=makeclose,fd=1

    flowop openfile name=extend,filesetname=shared,fd=1
    flowop appendfilerand name=extendwrite,iosize=$appendlimit,fd=1
    flowop closefile name=extendclose,fd=1

    flowop openfile name=fetch,filesetname=shared,fd=1
    flowop readwholefile name=fetchread,iosize=$requestsize,fd=1
    flowop closefile name=fetchclose,fd=1

    flowop deletefile name=remove,filesetname=shared
    flowop statfile name=look,filesetname=shared
  }
}

run 60
