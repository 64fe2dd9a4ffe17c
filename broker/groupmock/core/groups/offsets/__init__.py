"""What groups have committed, whatever their type."""
