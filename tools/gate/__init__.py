"""The parts of the gate that ready-made tools do not offer."""
