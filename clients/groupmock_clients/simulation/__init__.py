"""The simulation tries to break a cluster: a seed draws its clients, faults and steps, and judges check every event.

    from groupmock_clients.simulation.simulate import simulate
    outcome = simulate(7)
    outcome.finding            # None, or what broke, with the sentence of the judge that saw it

`plan` says what can be drawn, `draw` draws it, `play` plays it on the driver with virtual connections and a virtual clock, `judges` say
what must hold, `shrink` makes a failing plan small. docs/proof/simulation.md has what it found and what it costs.
"""
