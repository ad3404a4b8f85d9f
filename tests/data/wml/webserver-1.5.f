# A web server in WML 1.5, for tests: three pages, then the log.
set $dir="/srv/web"
set $pagesize=cvar(type=cvar-triangular,parameters=lower:4096;upper:20480;mode:6144)
set $visitors=30

define fileset name="pages",path=$dir,size=$pagesize,entries=400,dirwidth=8,prealloc=100,readonly
define file name=log,path=$dir,size=0,prealloc

define process name=httpd,instances=1
{
  thread name=visitor,memsize=1m,instances=$visitors
  {
    flowop openfile name=open1,filesetname=pages,fd=1
    flowop readwholefile name=read1,fd=1,iosize=1m
    flowop closefile name=close1,fd=1
    flowop openfile name=open2,filesetname=pages,fd=1
    flowop readwholefile name=read2,fd=1,iosize=1m
    flowop closefile name=close2,fd=1
    flowop openfile name=open3,filesetname=pages,fd=1
    flowop readwholefile name=read3,fd=1,iosize=1m
    flowop closefile name=close3,fd=1
    flowop appendfilerand name=log,filename=log,iosize=4k,fd=2
  }
}

run 60
