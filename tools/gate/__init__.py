"""What the gate needs beyond ready-made tools."""
