"""A recording is a journal of the requests and answers between real consumers and a real cluster.

`proxy` accepts connections and opens one to the cluster for each. `relay` passes the bytes on in both directions, `cutting` finds the
frames in them, and `work` queues the frames so that decoding never delays the bytes. `dialogue` pairs each answer with its request and
decodes both. `coordinator` infers from them what the cluster's group coordinator must have done. `groupmock.net.record` writes the rows, as
it does for groupmock's own server."""

from __future__ import annotations
