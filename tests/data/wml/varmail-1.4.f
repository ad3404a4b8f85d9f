# A mail server in WML 1.4, for tests.
set $dir=/srv/mail
set $messages=500
set $messagesize=8k
set $addition=4k
set $boxes=4
set $readsize=512k

define fileset name=inbox,path=$dir,size=$messagesize,entries=$messages,dirwidth=5000,prealloc=60

define process name=postoffice,instances=2
{
  thread name=box,memsize=4m,instances=$boxes
  {
    flowop deletefile name=purge,filesetname=inbox
    flowop createfile name=new,filesetname=inbox,fd=1
    flowop appendfilerand name=newbody,iosize=$addition,fd=1
    flowop fsync name=newsync,fd=1
    flowop closefile name=newclose,fd=1
    flowop openfile name=reply,filesetname=inbox,fd=1
    flowop readwholefile name=replyread,fd=1,iosize=$readsize
    flowop appendfilerand name=replybody,iosize=$addition,fd=1
    flowop fsync name=replysync,fd=1
    flowop closefile name=replyclose,fd=1
    flowop openfile name=peek,filesetname=inbox,fd=1
    flowop readwholefile name=peekread,fd=1,iosize=$readsize
    flowop closefile name=peekclose,fd=1
  }
}

echo "Mail loaded"
usage "set \$messages=<count>   now $messages"
usage "run 30"
