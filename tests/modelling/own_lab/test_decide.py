"""The rule of kdb measure without a server is the server's own: same draws, same posterior, same decision."""

import numpy as np
import pytest
from kdb_client import decide

from modelling.estimation import machine, sequential
from modelling.estimation.value import Components
from tests.simulations.machines import TROUBLES, TrueMachine

NAMES = "USUAL APART BY_CHOICE EARLY OFF MOST_EARLY LEAST OUT OPEN LIKELY TIED LARGEST DRAWS"


def test_its_constants_are_those_of_the_server(settings):
    for name in NAMES.split():
        assert getattr(decide, name) == getattr(sequential, name), name
    for name in ("SURE", "LOSS", "PLACES", "ALIKE", "DISTURBED", "SLOWER", "WIDER"):
        assert getattr(decide, name) == getattr(machine, name), name
    assert settings.KDB_MARGIN == decide.MARGIN


@pytest.mark.parametrize(("places", "trouble"), [("aab", 2), ("abcd", 3), ("ab", 5), ("abc", 6)])
def test_after_the_same_runs_both_know_the_same_and_run_the_same_next(places, trouble):
    size = len(places)
    nothing = np.zeros((1, size, size))
    unknown = Components(np.ones(1), nothing[0, :1], nothing, nothing)
    server = sequential.begin(machine.add_place_variance(unknown, list(places), are_alike=False))
    own = decide.Trial(places)
    rng = np.random.default_rng(trouble)
    measured = TrueMachine(rng, rng.normal(0, 0.3, size), TROUBLES[trouble])
    for _ in range(4):
        stands, ours = server.standing(decide.MARGIN), own.standing()
        block = sequential.next_block(stands, server.runs)
        server = sequential.update(server, [measured_block := measured.block(block)])
        own.update(measured_block.entries, measured_block.outcomes)
        np.testing.assert_allclose(own.weights, server.state.weights, rtol=1e-5)
        np.testing.assert_allclose(own.means, server.state.means, atol=1e-6)
        np.testing.assert_allclose(own.covariances, server.state.covariances, atol=1e-6)
        stands, ours = server.standing(decide.MARGIN), own.standing()
        np.testing.assert_allclose(ours.within, stands.within, atol=0.03)
        np.testing.assert_allclose(ours.losses, stands.losses, atol=0.01)
    assert own.is_settled(server_standing(stands)) == sequential.is_settled(stands, server.runs)
    assert tuple(own.next_block(server_standing(stands))) == sequential.next_block(stands, server.runs)


def server_standing(stands: machine.Standing) -> decide.Standing:
    """Return a server's standing as the client has it."""
    return decide.Standing(stands.first, stands.within.tolist(), stands.losses.tolist(), [])


def test_samples_tell_ratios_and_their_intervals():
    trial = decide.Trial("ab")
    for _ in range(6):
        trial.update((0, 1), (0.4, 0.0))
    standing = trial.standing()
    assert standing.first == 0
    middle, low, high = standing.ratios[1]
    assert low < middle < high < 1
    assert middle == pytest.approx(np.exp(-0.4), abs=0.05)
