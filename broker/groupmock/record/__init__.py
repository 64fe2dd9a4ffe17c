"""A recording is a journal of the requests and answers between real consumers and a real cluster.

The bytes go this way: `proxy` accepts connections and opens one to the cluster for each, `relay` passes the bytes on in both directions,
`cutting` finds the frames in them, `work` queues the frames so that decoding never delays the bytes, and `dialogue` pairs each answer with
its request and decodes both. `coordinator` concludes from them what the cluster's group coordinator must have done. `groupmock.net.record`
writes the rows, as it does for groupmock's own server."""

from __future__ import annotations
