package ptrace

import "prywalk/internal/procmem"

// decode turns what was read into its final form, after the thread was let go.
func (c *Controller) decode(_ *Look, req *Request, out *Stop) {
	l := &c.last
	c.decodeRegs(out)
	out.StackAddr, out.StackLen, out.StackAsked = c.stackAt, c.stackN, c.stackAsked
	out.Interrupt, out.Running, out.Stop, out.Detach = l.interruptNS, l.runningNS, l.stopNS, l.detachNS
	if out.Short = c.allowed.short; out.Short { // what lacks is no end of a mapping
		out.StackAsked = out.StackLen
	}
	out.Taken, out.Copied = l.takenNS, l.copiedNS
	out.Kind, out.Signal = l.kind, int(l.signal)
	out.Restarted, out.Broken, out.GaveUp, out.Told = l.restarted, l.broken, l.gaveUp, l.told
	out.InSyscall, out.Nr = rawSyscall(&c.raw)
	c.decodeSched(req, out)
}

// decodeRegs turns the registers into their final form.
func (c *Controller) decodeRegs(out *Stop) {
	out.Regs = decodeNative(&c.raw)
	if c.tls != 0 {
		out.Regs.TLS = c.tls
	}
	out.Regs.PACMask = c.pacMask
}

// decodeSched takes the clocks from what was read in the stop, or reads them now.
func (c *Controller) decodeSched(req *Request, out *Stop) {
	out.Sched, out.SchedOK = procmem.SchedStat{}, false
	if req.Files == nil {
		return
	}
	var err error
	if c.schedN > 0 {
		out.Sched, err = procmem.ParseSchedStat(c.schedBuf[:c.schedN])
	} else {
		out.Sched, err = req.Files.SchedStat()
	}
	out.SchedOK = err == nil
}
