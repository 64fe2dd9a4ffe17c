"""The only asyncio of the data path: server, connections, driver, loop choice."""
