"""The ten commonest mistakes in consumers, each made by a script on a virtual clock: what docs/how-to/read-the-story.md prints."""
