"""One file per API key: request and response, every version."""
