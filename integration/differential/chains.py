# SPDX-License-Identifier: Apache-2.0
# Run inside of gdb: prints every thread's chain of program counters, without what is no frame on the stack: inlined
# calls, and the tail calls that gdb infers from debugging information.
import gdb

LIMIT = 4096

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1]):
    thread.switch()
    print("prywalk-thread", thread.ptid[1])
    try:
        frame = gdb.newest_frame()
        for _ in range(LIMIT):
            if frame is None:
                break
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                print("prywalk-frame", hex(frame.pc()))
            frame = frame.older()
    except gdb.error as e:
        print("prywalk-error", e)
