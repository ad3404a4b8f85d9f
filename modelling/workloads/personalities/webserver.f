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

define process name=webserver,instances=1
{
  thread name=visitor,memsize=10m,instances=$threads
  {
    flowop openfile name=open1,filesetname=pages,fd=1
    flowop readwholefile name=read1,iosize=$readsize,fd=1
    flowop closefile name=close1,fd=1
    flowop openfile name=open2,filesetname=pages,fd=1
    flowop readwholefile name=read2,iosize=$readsize,fd=1
    flowop closefile name=close2,fd=1
    flowop openfile name=open3,filesetname=pages,fd=1
    flowop readwholefile name=read3,iosize=$readsize,fd=1
    flowop closefile name=close3,fd=1
    flowop openfile name=open4,filesetname=pages,fd=1
    flowop readwholefile name=read4,iosize=$readsize,fd=1
    flowop closefile name=close4,fd=1
    flowop openfile name=open5,filesetname=pages,fd=1
    flowop readwholefile name=read5,iosize=$readsize,fd=1
    flowop closefile name=close5,fd=1
    flowop openfile name=open6,filesetname=pages,fd=1
    flowop readwholefile name=read6,iosize=$readsize,fd=1
    flowop closefile name=close6,fd=1
    flowop openfile name=open7,filesetname=pages,fd=1
    flowop readwholefile name=read7,iosize=$readsize,fd=1
    flowop closefile name=close7,fd=1
    flowop openfile name=open8,filesetname=pages,fd=1
    flowop readwholefile name=read8,iosize=$readsize,fd=1
    flowop closefile name=close8,fd=1
    flowop openfile name=open9,filesetname=pages,fd=1
    flowop readwholefile name=read9,iosize=$readsize,fd=1
    flowop closefile name=close9,fd=1
    flowop openfile name=open10,filesetname=pages,fd=1
    flowop readwholefile name=read10,iosize=$readsize,fd=1
    flowop closefile name=close10,fd=1
    flowop appendfilerand name=logappend,filename=log,iosize=$appendlimit,fd=2
  }
}

run 60
