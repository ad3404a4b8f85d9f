"""The flowops of Filebench by what they do to files."""

READS = ("read", "readwholefile")
WRITES = ("write", "writewholefile", "appendfile", "appendfilerand", "aiowrite")
WHOLE_FILE = ("readwholefile", "writewholefile")
METADATA = ("openfile", "createfile", "closefile", "deletefile", "statfile", "makedir", "removedir", "listdir")
FLUSHES = ("fsync", "fsyncset")
WAITS = ("block", "wakeup", "semblock", "sempost", "delay", "hog", "aiowait")
LIMITS = ("eventlimit", "bwlimit", "iopslimit", "opslimit")
FINISHES = ("finishoncount", "finishonbytes")
OTHERS = ("print", "testrandvar")
KINDS = (*READS, *WRITES, *METADATA, *FLUSHES, *WAITS, *LIMITS, *FINISHES, *OTHERS)
NEED_FILESET = ("openfile", "createfile", "statfile", "makedir", "removedir", "listdir", "fsyncset")
