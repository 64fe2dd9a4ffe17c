"""The ten commonest mistakes in consumers, each made by a script on a virtual clock and printed in docs/how-to/read-the-story.md."""
