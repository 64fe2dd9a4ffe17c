"""What an exchange is: its steps, what its references mean, the settings it is played under, and what came of it."""
