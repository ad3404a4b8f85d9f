# Random file access in WML 1.5, for tests.
set $filesize=randvar(type=tabular, min=2k, randtable =
{{50,  2k,   6k},
 {40,  6k,  26k},
 {10, 26k, 100k}})
set $addition=randvar(type=gamma, min=512, round=512, mean=10k)
set $request=randvar(type=uniform, min=2k, mean=9k)
set $which=randvar(type=gamma, min=0, gamma=200)

define fileset name=tree,path=/srv/any,size=$filesize,entries=3000,dirwidth=6,prealloc=100

define process name=users,instances=1
{
  thread name=user,memsize=1m,instances=7
  {
    flowop openfile name=open1,filesetname=tree,indexed=$which,fd=1
    flowop openfile name=open2,filesetname=tree,indexed=$which,fd=2
    flowop openfile name=open3,filesetname=tree,indexed=$which,fd=3
    flowop appendfilerand name=append,iosize=$addition,fd=1
    flowop closefile name=close1,fd=1
    flowop readwholefile name=read2,iosize=$request,fd=2
    flowop readwholefile name=read3,iosize=$request,fd=3
    flowop closefile name=close2,fd=2
    flowop closefile name=close3,fd=3
  }
}

run 60
