# A web server in WML 1.5, for tests: three pages through a composite flowop, then the log.
set $dir="/srv/web"
set $pagesize=cvar(type=cvar-triangular,parameters=lower:4096;upper:20480;mode:6144)
set $visitors=30

define fileset name="pages",path=$dir,size=$pagesize,entries=400,dirwidth=8,prealloc=100,readonly
define file name=log,path=$dir,size=0,prealloc

define flowop name=serve, $where
{
  flowop openfile name=open,filesetname=$where,fd=1
  flowop readwholefile name=read,fd=1,iosize=1m
  flowop closefile name=close,fd=1
}

define process name=httpd,instances=1
{
  thread name=visitor,memsize=1m,instances=$visitors
  {
    flowop serve name=page, iters=3, $where=pages
    flowop appendfilerand name=log,filename=log,iosize=4k,fd=2
  }
}

run 60
