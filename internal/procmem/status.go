// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"

	"prywalk/internal/refusal"
)

// maxNesting is MAX_PID_NS_LEVEL (32) + 1.
const maxNesting = 33

// Status is part of /proc/PID/status (proc(5)). Missing fields are zero.
type Status struct {
	// Tgid is the process, PPid its parent; TracerPid is the thread's tracer, or 0.
	Tgid, PPid, TracerPid int
	Threads               int       // of the process
	UID                   [4]uint32 // real, effective, saved, file system
	// NSpid has NSpidN ids, from the /proc mount's pid namespace inwards.
	NSpid  [maxNesting]int
	NSpidN int
	CapEff uint64 // effective capabilities
	// Signal sets; bit n−1 is signal n: pending for the thread, for the process; blocked, ignored, caught.
	SigPnd, ShdPnd, SigBlk, SigIgn, SigCgt uint64
	Switches                               uint64 // departures from a CPU
	Sleeps                                 uint64 // voluntary ones
	Swap                                   uint64 // the process's memory in swap, KiB
	Seccomp                                int    // 0 (none), 1 (strict), 2 (filter)
	NoNewPrivs                             bool
	KernelThread                           bool // never set before Linux 6.8
	State                                  byte // one of R S D T t Z X I
}

// ParseStatus parses status, and skips unknown lines. Errors: [ErrFormat]; [refusal.Gone] without Tgid, as for a thread
// that was reaped. s is then zero.
func ParseStatus(b []byte, s *Status) error {
	*s = Status{}
	bad := false
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if key, val, ok := bytes.Cut(line, []byte(":")); ok {
			c := cursor{b: val}
			s.line(key, &c)
			bad = bad || c.bad
		}
	}
	switch {
	case bad || s.State == 0:
		*s = Status{}
		return ErrFormat
	case s.Tgid == 0:
		*s = Status{}
		return refusal.Gone
	}
	return nil
}

func (s *Status) line(key []byte, c *cursor) {
	switch string(key) {
	case "State":
		if w := c.word(); len(w) == 1 {
			s.State = w[0]
		}
	case "Tgid":
		s.Tgid = int(c.uint())
	case "PPid":
		s.PPid = int(c.uint())
	case "TracerPid":
		s.TracerPid = int(c.uint())
	case "Threads":
		s.Threads = int(c.uint())
	case "Uid":
		for i := range s.UID {
			s.UID[i] = uint32(c.uint())
		}
	case "NSpid":
		s.parseNSpid(c)
	case "CapEff":
		s.CapEff = c.number(c.word(), 16)
	case "VmSwap":
		s.Swap = c.uint()
	case "voluntary_ctxt_switches":
		s.Sleeps = c.uint()
		s.Switches += s.Sleeps
	case "nonvoluntary_ctxt_switches":
		s.Switches += c.uint()
	case "Seccomp":
		s.Seccomp = int(c.uint())
	case "NoNewPrivs":
		s.NoNewPrivs = c.uint() != 0
	case "Kthread":
		s.KernelThread = c.uint() != 0
	default:
		s.signals(key, c)
	}
}

func (s *Status) signals(key []byte, c *cursor) {
	switch string(key) {
	case "SigPnd":
		s.SigPnd = c.number(c.word(), 16)
	case "ShdPnd":
		s.ShdPnd = c.number(c.word(), 16)
	case "SigBlk":
		s.SigBlk = c.number(c.word(), 16)
	case "SigIgn":
		s.SigIgn = c.number(c.word(), 16)
	case "SigCgt":
		s.SigCgt = c.number(c.word(), 16)
	}
}

func (s *Status) parseNSpid(c *cursor) {
	for s.NSpidN < maxNesting {
		w := c.word()
		if len(w) == 0 {
			return
		}
		s.NSpid[s.NSpidN] = int(c.number(w, 10))
		s.NSpidN++
	}
}

// InnerID returns a thread's id in its innermost pid namespace, or 0 if that is the same or unknown.
func InnerID(id int) int {
	var s Status
	if ReadStatus(id, &s) != nil || s.NSpidN < 2 {
		return 0
	}
	if in := s.NSpid[s.NSpidN-1]; in != id {
		return in
	}
	return 0
}
