# SPDX-License-Identifier: Apache-2.0
"""Reads a trace with the messages of Google's package perfetto, and prints what it has as JSON.

Where trace_processor_shell is installed, it reads the trace as well: the package would download one.
"""

import collections
import json
import shutil
import sys

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import CounterDescriptor, Trace, TracePacket, TrackEvent


def unknown(message):
    n = len(UnknownFieldSet(message))
    for _, value in message.ListFields():
        for part in [value] if isinstance(value, Message) else value if hasattr(value, "__iter__") else []:
            n += unknown(part) if isinstance(part, Message) else 0
    return n


def decoded(path):
    trace = Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    slices, counters, units = {}, {}, set()  # of counters
    tracks, names, stacks = {}, {}, collections.defaultdict(list)
    for i, p in enumerate(trace.packet):
        cleared = p.sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        if cleared != (i == 0) or p.trusted_packet_sequence_id != 1:
            sys.exit(f"packet {i}: sequence {p.trusted_packet_sequence_id}, flags {p.sequence_flags}")
        names.update((e.iid, e.name) for e in p.interned_data.event_names)
        if p.HasField("track_descriptor"):
            t = p.track_descriptor
            name = tracks[t.parent_uuid] + " state" if t.name == "state" else t.name
            tracks[t.uuid] = name
            slices[name] = collections.Counter()
            if t.HasField("counter"):
                units.add(t.counter.unit)
        if p.HasField("track_event"):
            e = p.track_event
            track = tracks[e.track_uuid]
            if e.type == TrackEvent.TYPE_SLICE_BEGIN:
                stacks[e.track_uuid].append((names[e.name_iid], p.timestamp))
            elif e.type == TrackEvent.TYPE_SLICE_END:
                name, begin = stacks[e.track_uuid].pop()
                slices[track][name] += p.timestamp - begin
            elif e.type == TrackEvent.TYPE_COUNTER:
                counters[track] = e.counter_value
    return {"slices": slices, "counters": counters, "unknown": unknown(trace), "open": sum(map(len, stacks.values())),
            "units": [CounterDescriptor.Unit.Name(n) for n in units]}


def processed(path, shell):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    tp = TraceProcessor(trace=path, config=TraceProcessorConfig(bin_path=shell))
    try:
        errors = [r.name for r in tp.query("select name from stats where severity = 'error' and value > 0")]
        sums = {r.name: r.ns for r in tp.query("select name, sum(dur) as ns from slice group by name")}
    finally:
        tp.close()
    return {"errors": errors, "sums": sums}


result = decoded(sys.argv[1])
shell = shutil.which("trace_processor_shell")
if shell:
    result["processor"] = processed(sys.argv[1], shell)
json.dump(result, sys.stdout)
