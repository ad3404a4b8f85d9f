# A database in WML 1.4, for tests: direct and synchronous writes, semaphores, a rate.
set $rate=10
set $block=4k
eventgen rate = $rate

define file name=table,path=/srv/db,size=512m,prealloc,reuse
define file name=journal,path=/srv/db,size=8m,prealloc,reuse,paralloc

define process name=writer,instances=3
{
  thread name=flusher,memsize=1m,useism
  {
    flowop aiowrite name=flush,filename=table,
      iosize=$block,random,dsync,directio,iters=20,workingset=64m
    flowop aiowait name=flushed
    flowop semblock name=wait,value=100,highwater=400
  }
}

define process name=reader,instances=9
{
  thread name=query,memsize=1m,instances=2
  {
    flowop read name=lookup,filename=table,iosize=$block,random,directio,workingset=64m
    flowop write name=note,filename=journal,iosize=$block,dsync
    flowop hog name=think,value=500
    flowop sempost name=post,value=1,target=wait,blocking
    flowop eventlimit name=limit
  }
}

run 30
