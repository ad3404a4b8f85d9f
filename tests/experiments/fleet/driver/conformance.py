"""Tests that any placement driver must pass. A driver's test module makes a class of this and gives it a `place`.

A place is a host with one machine that runs and writes records, an image of it in a first pool and a second pool:
`driver` (MovingDriver), `machine` (writes_on, lost, start), `new_move()` of a token of its own, `exists(path)` (of a
pool: whether the machine has an image there), `stop()`, which takes the machine's power, `free_bytes()` of the second
pool, `put(path)`, and `moved(move)`, which is told where the image lies now. `listing` (ListingDriver) is
its other half.
"""

import time

import pytest

from experiments.fleet.driver.contract import CopyEnded, Forbidden, Image, Move


def copied(driver, move: Move, seconds: float = 120) -> None:
    """Copy until the new image follows every write."""
    driver.copy(move)
    deadline = time.monotonic() + seconds
    while not driver.progress(move).is_ready:
        assert time.monotonic() < deadline, driver.progress(move)
        time.sleep(0.1)


class MovingConformance:
    def test_a_check_tells_what_would_be_copied_and_changes_nothing(self, place):
        move = place.new_move()
        checked = place.driver.check(move)
        assert checked.size_bytes == place.size_bytes
        assert not place.exists(move.new)
        assert place.driver.running_image(move) == Image.OLD

    def test_what_has_no_room_is_not_begun(self, place):
        with pytest.raises(Forbidden, match="free"):
            place.driver.copy(place.new_move(reserve_bytes=place.free_bytes()))

    def test_a_copy_asked_for_twice_is_the_same_copy_and_undoing_it_leaves_nothing(self, place):
        move = place.new_move(copy_rate=2**20)
        place.driver.copy(move)
        deadline = time.monotonic() + 60
        while not place.driver.progress(move).done:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        again = place.driver.copy(move)
        assert 0 < again.done < again.total
        place.driver.undo(move)
        assert (place.driver.running_image(move), place.exists(move.new)) == (Image.OLD, False)
        place.driver.undo(move)
        with pytest.raises(CopyEnded):
            place.driver.progress(move)
        place.machine.writes_on()

    def test_a_switch_without_a_whole_copy_leaves_the_machine_on_its_image(self, place):
        with pytest.raises((Forbidden, CopyEnded)):
            place.driver.switch(move := place.new_move())
        assert place.driver.running_image(move) == Image.OLD
        place.machine.writes_on()

    def test_a_machine_that_stops_ends_its_copy_and_starts_from_its_old_image(self, place):
        move = place.new_move(copy_rate=2**20)
        place.driver.copy(move)
        place.stop()
        with pytest.raises(CopyEnded):
            place.driver.progress(move)
        assert place.driver.running_image(move) == Image.OLD
        place.driver.undo(move)
        assert not place.exists(move.new)
        assert place.machine.lost(move.old) == []
        place.machine.start()

    def test_a_switched_machine_runs_from_the_new_image_now_and_after_a_restart(self, place):
        move = place.new_move()
        copied(place.driver, move)
        if place.driver.running_image(move) == Image.OLD:  # else its host switches by itself
            with pytest.raises(Forbidden):
                place.driver.keep(move)
        place.driver.switch(move)
        assert place.driver.running_image(move) == Image.NEW
        place.driver.switch(move)
        move = place.driver.locate_new(move)
        assert place.driver.locate_new(move) == move
        kept = place.driver.kept_name(move)
        place.machine.writes_on()
        with pytest.raises(Forbidden):
            place.driver.undo(move)
        place.driver.keep(move)
        place.driver.keep(move)
        assert place.exists(kept)
        assert kept == move.old or not place.exists(move.old)
        place.stop()
        assert place.driver.running_image(move) == Image.NEW
        assert place.machine.lost(move.new) == []
        place.machine.start()
        assert place.driver.running_image(move) == Image.NEW
        place.driver.remove(move)
        place.driver.remove(move)
        assert not place.exists(kept)
        place.moved(move)

    def test_what_is_in_use_or_not_of_the_move_is_never_removed(self, place):
        move = place.new_move()
        kept = place.driver.kept_name(move)
        place.put(kept)
        with pytest.raises(Forbidden):
            place.driver.remove(move)
        assert place.exists(kept)
        place.machine.writes_on()


class NamingConformance(MovingConformance):
    """Further tests, for a driver that names the new image itself."""

    def test_what_has_its_place_taken_is_not_begun(self, place):
        move = place.new_move()
        place.put(move.new)
        with pytest.raises(Forbidden, match="there already"):
            place.driver.check(move)


class ListingConformance:
    """Tests that any driver that lists must pass."""

    def test_the_list_names_the_machine_its_disk_and_the_pool_that_it_lies_on(self, place):
        listing = place.listing.list_all()
        move = place.new_move()
        (machine,) = [machine for machine in listing.machines if machine.uuid == move.machine]
        assert machine.is_running
        (disk,) = [disk for disk in machine.disks if disk.target == move.disk]
        assert (disk.path, disk.size_bytes, disk.has_backing_chain) == (move.old, place.size_bytes, False)
        pool = {pool.path: pool for pool in listing.pools}[disk.pool]
        assert 0 < pool.free_bytes <= pool.size_bytes

    def test_counters_rise_while_the_machine_writes_and_are_named_as_in_the_list(self, place):
        move = place.new_move()
        (machine,) = [one for one in place.listing.list_all().machines if one.uuid == move.machine]
        first = place.listing.read_counters()[machine.runs_as][move.disk]
        place.machine.writes_on()
        second = place.listing.read_counters()[machine.runs_as][move.disk]
        assert (second.writes > first.writes, second.write_bytes > first.write_bytes) == (True, True)

    def test_a_machine_that_stopped_is_listed_and_not_counted(self, place):
        move = place.new_move()
        place.stop()
        (machine,) = [listed for listed in place.listing.list_all().machines if listed.uuid == move.machine]
        assert not machine.is_running
        assert place.listing.read_counters() == {}
        place.machine.start()
