"""The reader of virsh's counters of disks."""

from experiments.laboratory.transport.counters import Counts, read, since, sizes

# Printed by libvirt 9.0 of one machine with two disks, and of one whose disk is not counted.
PRINTED = """Domain: 'mail'
  block.count=2
  block.0.name=vda
  block.0.path=/srv/guest/root.squashfs
  block.0.rd.reqs=1834
  block.0.rd.bytes=41885696
  block.0.rd.times=912345678
  block.0.wr.reqs=0
  block.0.wr.bytes=0
  block.0.wr.times=0
  block.0.fl.reqs=0
  block.0.fl.times=0
  block.0.allocation=66228224
  block.0.capacity=66228224
  block.0.physical=66224128
  block.1.name=vdb
  block.1.path=/srv/images/it's=odd.raw
  block.1.rd.reqs=12
  block.1.rd.bytes=49152
  block.1.rd.times=2000000
  block.1.wr.reqs=7
  block.1.wr.bytes=114688
  block.1.wr.times=3500000
  block.1.fl.reqs=5
  block.1.fl.times=41000000
  block.1.allocation=1048576
  block.1.capacity=335544320
  block.1.physical=335544320

Domain: 'it's off'
  block.count=1
  block.0.name=vda
  block.0.path=/srv/images/off.raw

"""


def test_counts_are_read_by_machine_and_disk():
    counts = read(PRINTED)
    assert counts["mail"]["vdb"] == Counts(12, 49152, 0.002, 7, 114688, 0.0035, 5, 0.041)
    assert set(counts["mail"]) == {"vda", "vdb"}


def test_a_disk_that_is_not_counted_is_left_out_and_not_zero():
    assert read(PRINTED)["it's off"] == {}


def test_sizes_are_what_the_machine_sees_and_what_the_host_holds():
    assert sizes(PRINTED)["mail"]["vdb"] == (335544320, 1048576)


def test_text_that_is_no_answer_has_no_machines():
    assert read("error: failed to connect\n") == {}


def test_a_counter_that_went_back_leaves_nothing_to_say():
    assert since(Counts(reads=5, writes=1), Counts(reads=4, writes=2)) is None
    assert since(Counts(reads=5, writes=2), Counts(reads=4, writes=2)) == Counts(reads=1)
