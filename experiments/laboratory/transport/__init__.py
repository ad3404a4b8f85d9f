"""The way to a machine: ssh, the verbs of remote.sh, and what the machine tells."""
