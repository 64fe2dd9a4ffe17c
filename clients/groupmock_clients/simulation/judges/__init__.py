"""The judges check a simulated cluster while it runs, each judge for one part of the protocol. Each judge is told what happens and says
what is wrong in a sentence; none knows the core's code, but for a group's attributes."""
