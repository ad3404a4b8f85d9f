# Web server: P0 table 3 (threads, files, directory width, file size), P3 section 7 (ten files are read, then
# the log is appended to). Sizes of requests and of the append are not in the papers.
set $dir=/tmp
set $files=1000
set $directorywidth=20
set $pagesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $threads=100
set $readsize=1m
set $appendlimit=16k

define fileset name=pages,path=$dir,size=$pagesize,entries=$files,dirwidth=$directorywidth,prealloc=100,readonly
define file name=log,path=$dir,size=$pagesize,prealloc

define flowop name=serve
{
  flowop openfile name=pageopen,filesetname=pages,fd=1
  flowop readwholefile name=pageread,iosize=$readsize,fd=1
  flowop closefile name=pageclose,fd=1
}

define process name=webserver,instances=1
{
  thread name=visitor,memsize=10m,instances=$threads
  {
    flowop serve name=serveten,iters=10
    flowop appendfilerand name=logappend,filename=log,iosize=$appendlimit,fd=2
  }
}

run 60
