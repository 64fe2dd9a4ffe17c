"""The stages: our core, our connection code, a broker over TCP; and a play as `.exchange` text."""
