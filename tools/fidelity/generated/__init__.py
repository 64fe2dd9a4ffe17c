"""What a generated exchange is, what its names mean in a play, the settings it is played under, what came of it, and its text."""
