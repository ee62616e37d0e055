// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

type capture struct {
	regs                       registers
	stack                      stackReader
	sched                      [96]byte
	schedLen                   int
	callsAtRegs, callsAtMemory int64

	reader Reader
}

func (c *capture) begin(lastRunning Moment, req *Request) {
	c.stack.deadline.begin(lastRunning, req.MaxStop)
	if req.Memory != nil {
		req.Memory.SetDeadline(int64(c.stack.deadline.until))
	}
}

//go:nosplit
func (c *capture) readState(attachment *Attachment, req *Request) syscall.Errno {
	c.schedLen = -1
	c.stack.copied.StackLen = 0
	if e := c.regs.read(attachment.tid); e != 0 || !c.regs.complete() {
		return e
	}
	if req.Files != nil {
		c.schedLen = req.Files.RawSchedStat(c.sched[:])
	}
	attachment.times.RegsReadAt, c.callsAtRegs = Now(), procmem.Calls()
	return 0
}

//go:nosplit
func (c *capture) recordCopied(attachment *Attachment) {
	attachment.times.MemoryReadAt, c.callsAtMemory = Now(), procmem.Calls()
}

// Precondition: the thread is detached.
func (c *capture) decode(req *Request, out *Stop) {
	out.Regs = c.regs.decode()
	out.Copy = c.stack.result()
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
		tid: attachment.tid, memory: req.Memory, deadline: &c.stack.deadline,
		readsLeft: min(max(req.OtherMemory.ReadLimit(), defaultReads), MaxReads),
	}
	c.stack.read(attachment.tid, req, rawSP(&c.regs.raw))
	got := &c.stack.copied
	c.reader.stackAt, c.reader.stack = got.StackAddr, req.Stack[:got.StackLen]
	n := req.OtherMemory.Regions(&out.Regs, &c.reader, req.Regions)
	c.reader.readsLeft, c.reader.stack = 0, nil
	return min(max(n, 0), len(req.Regions))
}

type registers struct {
	raw rawRegs
	// size is the bytes in raw; 0 means that the thread is gone, less than rawRegsLen that it is a 32-bit one.
	size    int
	tls     uint64 // arm64: thread pointer
	pacMask uint64 // arm64: pointer authentication bits; 0 means not read
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
