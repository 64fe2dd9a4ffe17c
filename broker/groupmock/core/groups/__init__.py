"""The group coordinator: classic groups, their offsets, and where they live."""
