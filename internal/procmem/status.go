// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"

	"prywalk/internal/refusal"
)

// maxNesting is the deepest nesting of pid namespaces that the kernel makes
// (MAX_PID_NS_LEVEL 32), with the outermost.
const maxNesting = 33

// Status is a part of /proc/PID/status (proc(5)). What an older kernel does not
// show is zero.
type Status struct {
	// Tgid is the process, PPid its parent process, TracerPid the thread that
	// traces it (0: none).
	Tgid, PPid, TracerPid int
	// Threads is the number of threads of the process.
	Threads int
	// UID has the real, effective, saved and file system user.
	UID [4]uint32
	// NSpid has the thread's number in each pid namespace that it is in, the
	// outermost (that of the /proc mount) first; NSpidN of them.
	NSpid  [maxNesting]int
	NSpidN int
	// CapEff is the set of effective capabilities.
	CapEff uint64
	// SigPnd and ShdPnd are the signals pending for the thread and for the
	// process; SigBlk, SigIgn and SigCgt those blocked, ignored and caught. Bit
	// n−1 stands for signal n.
	SigPnd, ShdPnd, SigBlk, SigIgn, SigCgt uint64
	// Switches is how often the thread has left a processor.
	Switches uint64
	// Sleeps is how many of these it has asked for itself.
	Sleeps uint64
	// Swap is how much of its memory lies in swap, in KiB.
	Swap uint64
	// Seccomp is 0 (none), 1 (strict) or 2 (filter).
	Seccomp int
	// NoNewPrivs is the no_new_privs bit.
	NoNewPrivs bool
	// KernelThread as the kernel says it (Linux 6.8 and later).
	KernelThread bool
	// State is one of R S D T t Z X I.
	State byte
}

// ParseStatus reads a status file into s. Lines that it does not know, and their order, do not matter. Error:
// [ErrFormat] if a line that it knows is malformed or the file has no State. It is [refusal.Gone] if Tgid is missing or
// zero, as the kernel shows it of a thread that was waited for just now. s is then zero.
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

// line takes over one line. The conversion of key in the switch does not
// allocate.
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

// signals takes over the lines with sets of signals.
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

// parseNSpid takes over the numbers of the NSpid line.
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

// InnerID gives the number of a thread or process in its own pid namespace, the innermost of those that it is in. It is
// 0 if it is the same as here, or not known.
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
