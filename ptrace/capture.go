// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

type capture struct {
	regs                       registers
	stack                      stackReader
	sched                      [96]byte
	schedLen                   int
	callsAtRegs, callsAtMemory int64

	reader  Reader
	parts   [maxParts]frames.Region
	vectors vectors
}

func (c *capture) begin(lastRunning int64, req *Request) {
	c.stack.deadline.begin(lastRunning, req.MaxStop)
	if req.Memory != nil {
		req.Memory.SetDeadline(c.stack.deadline.until)
	}
}

//go:nosplit
func (c *capture) readState(attachment *Attachment, req *Request) syscall.Errno {
	c.schedLen = -1
	c.stack.reset()
	if e := c.regs.read(attachment.tid); e != 0 || !c.regs.complete() {
		return e
	}
	if req.Files != nil {
		c.schedLen = req.Files.RawSchedStat(c.sched[:])
	}
	attachment.times.RegsReadAt, c.callsAtRegs = procmem.Now(), procmem.Calls()
	return 0
}

//go:nosplit
func (c *capture) noteCopied(attachment *Attachment) {
	attachment.times.MemoryReadAt, c.callsAtMemory = procmem.Now(), procmem.Calls()
}

// Precondition: the thread is detached.
func (c *capture) decode(req *Request, out *Stop) {
	out.Regs = c.regs.decode()
	out.StackCopy = c.stack.result()
	out.Calls = int(c.callsAtMemory - c.callsAtRegs)
	out.InSyscall, out.Nr = rawSyscall(&c.regs.raw)
	out.Sched, out.SchedOK = c.clocks(req.Files)
}

// clocks returns the clocks read in the stop, else reads them now.
func (c *capture) clocks(files *ThreadFiles) (sched SchedStat, ok bool) {
	if files == nil {
		return SchedStat{}, false
	}
	var err error
	if c.schedLen > 0 {
		sched, err = procmem.ParseSchedStat(c.sched[:c.schedLen])
	} else {
		sched, err = files.SchedStat()
	}
	return sched, err == nil
}

func (c *capture) readOtherMemory(attachment *Attachment, req *Request, out *Stop) int {
	out.Regs = c.regs.decode()
	c.reader = Reader{
		tid: attachment.tid, memory: req.Memory, vectors: &c.vectors, deadline: &c.stack.deadline,
		readsLeft: min(max(req.OtherMemory.ReadLimit(), defaultReads), MaxReads),
	}
	if !c.copyPrefetchedAndStack(attachment.tid, req, out) {
		c.stack.read(attachment.tid, req, rawSP(&c.regs.raw))
	}
	c.stack.readTail(attachment.tid, req)
	got := &c.stack.copied
	c.reader.stackAt, c.reader.stack = got.StackAddr, c.stack.buffer(req)[:got.StackLen]
	n := req.OtherMemory.Regions(&out.Regs, &c.reader, req.Regions)
	c.reader.readsLeft, c.reader.stack = 0, nil
	return min(max(n, 0), len(req.Regions))
}

// copyPrefetchedAndStack reads nothing of the stack if it returns false.
func (c *capture) copyPrefetchedAndStack(tid int, req *Request, out *Stop) bool {
	places := req.OtherMemory.Prefetch(&out.Regs)
	if len(places) == 0 || len(places) >= maxParts {
		return false
	}
	n, want := copy(c.parts[:], places), 0
	for i := range places {
		want += len(places[i].Bytes)
	}
	c.stack.plan(req, rawSP(&c.regs.raw))
	if req.Memory != nil {
		return c.copyPrefetchedThenStack(tid, req, &out.Regs, n, want)
	}
	got := &c.stack.copied
	c.parts[n] = frames.Region{Addr: got.StackAddr, Bytes: c.stack.buffer(req)}
	read := readParts(tid, c.parts[:n+1], &c.vectors)
	c.parts[n].Bytes = nil
	if read <= want {
		return false
	}
	c.reader.prefetched, got.StackLen = true, read-want
	return true
}

// copyPrefetchedThenStack reads the n places (want bytes), then the stack up to the end that they show; false: the
// places are not all readable.
func (c *capture) copyPrefetchedThenStack(tid int, req *Request, regs *frames.Regs, n, want int) bool {
	if copyParts(req.Memory, tid, c.parts[:n], &c.stack.deadline) != want {
		return false
	}
	got := &c.stack.copied
	got.StackAsked = bytesUpTo(req.OtherMemory.StackEnd(regs, &c.reader), got.StackAddr, got.StackAsked)
	got.StackLen = c.stack.deadline.read(req.Memory, tid, got.StackAddr, c.stack.buffer(req))
	c.reader.prefetched = true
	return true
}

type registers struct {
	raw rawRegs
	// bytes in raw: 0: the thread is gone; less than rawRegsLen: a 32-bit one
	size    int
	tls     uint64 // arm64: thread pointer
	pacMask uint64 // arm64: pointer authentication bits; 0: not read
}

//go:nosplit
func (r *registers) read(tid int) (e syscall.Errno) {
	r.size, e = getRegSet(tid, regSetGeneral, &r.raw)
	if e != 0 {
		r.size = 0
		return e
	}
	r.readArchRegs(tid)
	return 0
}

// complete reports whether raw is the set of a 64-bit thread.
//
//go:nosplit
func (r *registers) complete() bool { return r.size == rawRegsLen }

func (r *registers) decode() frames.Regs {
	regs := decodeNative(&r.raw)
	if r.tls != 0 {
		regs.TLS = r.tls
	}
	regs.PACMask = r.pacMask
	return regs
}
