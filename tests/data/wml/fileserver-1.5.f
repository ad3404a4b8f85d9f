# A file server in WML 1.5, for tests.
set $dir=/srv/files
set $filesize=cvar(type=cvar-uniform,parameters=lower:65536;upper:196608)
set $addition=16k
set $request=64k

define fileset name=share,path=$dir,size=$filesize,entries=2000,
  dirwidth=10,prealloc=50

define process name=server,instances=1
{
  thread name=worker,memsize=2m,instances=12
  {
    flowop createfile name=create,filesetname=share,fd=1
    flowop writewholefile name=write,fd=1,srcfd=1,iosize=$request
    flowop closefile name=written,fd=1
    flowop openfile name=open,filesetname=share,fd=1
    flowop appendfilerand name=append,iosize=$addition,fd=1
    flowop closefile name=appended,fd=1
    flowop openfile name=again,filesetname=share,fd=1
    flowop readwholefile name=read,fd=1,iosize=$request
    flowop closefile name=readclose,fd=1
    flowop deletefile name=delete,filesetname=share
    flowop statfile name=stat,filesetname=share
  }
}
run 20
