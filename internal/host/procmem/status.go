// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"syscall"

	"prywalk/internal/base/errs"
)

// maxNesting is MAX_PID_NS_LEVEL (32) + 1.
const maxNesting = 33

// Status is part of /proc/PID/status (proc(5)). Missing fields are zero.
type Status struct {
	Tgid, PPid, TracerPid int
	PID                   int
	Threads               int       // of the process
	UID, GID              [4]uint32 // real, effective, saved, file system
	// NSpid has NSpidN ids, from the /proc mount's pid namespace inwards.
	NSpid  [maxNesting]int
	NSpidN int
	// CapEff and CapPrm are bit sets by number (capabilities(7)).
	CapEff, CapPrm uint64
	SigIgn, SigCgt uint64 // signals that are ignored, caught: bit n−1 is signal n
	Switches       uint64 // departures from a CPU
	Sleeps         uint64 // voluntary departures
	Swap           uint64 // the process's memory in swap, KiB
	Seccomp        int    // 0 (none), 1 (strict), 2 (filter)
	NoNewPrivs     bool
	KernelThread   bool // never set before Linux 6.8
	State          byte
}

// ParseStatus skips unknown lines. Errors: [errFormat]; [errs.Exited] without Tgid, as for a thread that was reaped.
// s is then zero.
func ParseStatus(b []byte, s *Status) error {
	*s = Status{}
	bad := false
	for rest := b; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		bad = s.parseLine(line) || bad
	}
	return s.check(bad)
}

// readStatus parses and closes fd. The line of groups has up to 720 KB.
func readStatus(fd int, e syscall.Errno, s *Status) error {
	*s = Status{}
	if e != 0 {
		return classify(e)
	}
	defer closeFD(fd)
	var buf [4096]byte
	at, kept := 0, 0 // offset in the file, bytes of a line that goes on
	bad, skips := false, false
	for {
		n, e := pread(fd, buf[kept:], uint64(at))
		if e != 0 {
			*s = Status{}
			return classify(e)
		}
		short := n < len(buf)-kept // a single record ends so (fs/seq_file.c, seq_read_iter)
		at += n
		line, rest, whole := bytes.Cut(buf[:kept+n], []byte{'\n'})
		for ; whole; line, rest, whole = bytes.Cut(rest, []byte{'\n'}) {
			bad = !skips && s.parseLine(line) || bad
			skips = false
		}
		if at == 0 {
			return errs.Exited
		}
		if short {
			return s.check(bad)
		}
		if skips = skips || len(line) == len(buf); skips {
			line = nil
		}
		kept = copy(buf[:], line)
	}
}

func (s *Status) check(bad bool) error {
	switch {
	case bad || s.State == 0:
		*s = Status{}
		return errFormat
	case s.Tgid == 0:
		*s = Status{}
		return errs.Exited
	}
	return nil
}

func (s *Status) parseLine(line []byte) (bad bool) {
	key, val, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return false
	}
	c := Cursor{Text: val}
	s.set(key, &c)
	return c.Bad
}

func (s *Status) set(key []byte, c *Cursor) {
	switch string(key) {
	case "State":
		if w := c.Word(); len(w) == 1 {
			s.State = w[0]
		}
	case "Tgid":
		s.Tgid = int(c.Uint())
	case "Pid":
		s.PID = int(c.Uint())
	case "PPid":
		s.PPid = int(c.Uint())
	case "TracerPid":
		s.TracerPid = int(c.Uint())
	case "Threads":
		s.Threads = int(c.Uint())
	case "Uid":
		parseIDs(&s.UID, c)
	case "Gid":
		parseIDs(&s.GID, c)
	case "NSpid":
		for w := c.Word(); len(w) > 0 && s.NSpidN < maxNesting; w = c.Word() {
			s.NSpid[s.NSpidN] = int(c.Number(w, 10))
			s.NSpidN++
		}
	case "CapPrm":
		s.CapPrm = c.Number(c.Word(), 16)
	case "CapEff":
		s.CapEff = c.Number(c.Word(), 16)
	case "VmSwap":
		s.Swap = c.Uint()
	case "voluntary_ctxt_switches":
		s.Sleeps = c.Uint()
		s.Switches += s.Sleeps
	case "nonvoluntary_ctxt_switches":
		s.Switches += c.Uint()
	case "Seccomp":
		s.Seccomp = int(c.Uint())
	case "NoNewPrivs":
		s.NoNewPrivs = c.Uint() != 0
	case "Kthread":
		s.KernelThread = c.Uint() != 0
	case "SigIgn":
		s.SigIgn = c.Number(c.Word(), 16)
	case "SigCgt":
		s.SigCgt = c.Number(c.Word(), 16)
	}
}

func parseIDs(of *[4]uint32, c *Cursor) {
	for i := range of {
		of[i] = uint32(c.Uint())
	}
}

func (s *Status) innermostID() int {
	if s.NSpidN == 0 { // before Linux 4.1
		return s.PID
	}
	return s.NSpid[s.NSpidN-1]
}

// InnerTID returns a thread's id in its innermost pid namespace, or tid if unknown.
func InnerTID(tid int) int {
	var s Status
	if ReadStatus(tid, &s) != nil {
		return tid
	}
	return s.innermostID()
}
