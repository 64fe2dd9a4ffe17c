"""The judges check a simulated cluster while it runs, each judge another promise of a cluster. Each judge is told what happens and says
what is wrong in a sentence; none knows the core's code, but for a group's attributes."""
