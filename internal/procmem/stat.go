// SPDX-License-Identifier: Apache-2.0

package procmem

import "bytes"

// Comm is a thread's name as the kernel keeps it: any bytes but NUL, at most 15
// for a user's thread (kernel threads show up to 63).
type Comm struct {
	buf [63]byte
	n   uint8
}

// Bytes gives the name; valid as long as c.
func (c *Comm) Bytes() []byte { return c.buf[:c.n] }

// String gives the name as a string of its own (allocates).
func (c *Comm) String() string { return string(c.Bytes()) }

// set takes over a name, cut to what fits.
func (c *Comm) set(b []byte) { c.n = uint8(copy(c.buf[:], b)) }

// Stat is a part of /proc/PID/stat (proc(5)).
type Stat struct {
	// PID is the first field: the thread's number.
	PID int
	// PPID is the parent process.
	PPID int
	// Flags are the kernel's PF_* flags.
	Flags uint64
	// UTime and STime are processor times in clock ticks (1/100 s), in user and
	// kernel mode.
	UTime, STime uint64
	// ChildUTime and ChildSTime are those of the children that the process has waited for, and of theirs.
	ChildUTime, ChildSTime uint64
	// Threads is the number of threads of the process.
	Threads int
	// StartTime is when it started, in clock ticks since boot: with PID it
	// names a thread for good.
	StartTime uint64
	// Comm is the name.
	Comm Comm
	// State is one of R S D T t Z X I (proc(5)).
	State byte
	// Processor is the one that it ran on last, −1 if the kernel does not say.
	Processor int
}

// flagKernelThread is PF_KTHREAD of the kernel's include/linux/sched.h.
const flagKernelThread = 0x00200000

// KernelThread reports whether it is a thread of the kernel itself, which has no
// user-space stack.
func (s *Stat) KernelThread() bool { return s.Flags&flagKernelThread != 0 }

// flagsUserWorker are PF_IO_WORKER and PF_USER_WORKER: threads that the kernel has started in a process.
const flagsUserWorker = 0x10 | 0x4000

// UserWorker reports whether it is a thread of a process that never runs in user space: io_uring's and vhost's.
func (s *Stat) UserWorker() bool { return s.Flags&flagsUserWorker != 0 && !s.KernelThread() }

// ParseStat reads a stat file into s. The name may hold blanks and brackets: it
// ends at the last ")". Error: [ErrFormat], s is then zero.
func ParseStat(b []byte, s *Stat) error {
	*s = Stat{}
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return ErrFormat
	}
	head := cursor{b: b[:open]}
	s.PID = int(head.uint())
	s.Comm.set(b[open+1 : shut])
	c := cursor{b: b[shut+1:]}
	if w := c.word(); len(w) == 1 {
		s.State = w[0]
	} else {
		c.bad = true
	}
	s.fields(&c)
	if head.bad || c.bad {
		*s = Stat{}
		return ErrFormat
	}
	return nil
}

// fields reads field 4 (ppid) to 22 (starttime), and 39 (processor) if it is there.
func (s *Stat) fields(c *cursor) {
	s.required(c)
	rest := *c
	for range 39 - 22 - 1 {
		rest.word()
	}
	if s.Processor = int(rest.uint()); rest.bad {
		s.Processor = -1
	}
}

func (s *Stat) required(c *cursor) {
	for field := 4; field <= 22; field++ {
		switch field {
		case 4:
			s.PPID = int(c.uint())
		case 9:
			s.Flags = c.uint()
		case 14:
			s.UTime = c.uint()
		case 15:
			s.STime = c.uint()
		case 16:
			s.ChildUTime = uint64(max(c.int(), 0)) // signed, in the kernel's own words
		case 17:
			s.ChildSTime = uint64(max(c.int(), 0))
		case 20:
			s.Threads = int(c.int())
		case 22:
			s.StartTime = c.uint()
		default:
			if len(c.word()) == 0 {
				c.bad = true
			}
		}
	}
}
