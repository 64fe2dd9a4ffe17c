"""Text: what peers sent shown safely, what they wrote read within bounds, what they meant proposed, and one HTML document."""
