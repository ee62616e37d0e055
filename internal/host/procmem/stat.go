// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
)

// Comm is a thread's name: at most 15 bytes (kernel threads 63), no NUL.
type Comm struct {
	buf [63]byte
	n   uint8
}

// Bytes returns the name, valid as long as c.
func (c *Comm) Bytes() []byte { return c.buf[:c.n] }

// String copies the name.
func (c *Comm) String() string { return string(c.Bytes()) }

func (c *Comm) set(b []byte) {
	*c = Comm{} // names are compared by ==
	c.n = uint8(copy(c.buf[:], b))
}

// ClockTick is the unit of times in /proc/PID/stat, ns: USER_HZ is 100 (include/asm-generic/param.h).
const ClockTick = 10e6

// Stat is part of /proc/PID/stat (proc(5)).
type Stat struct {
	PID                    int // of the thread
	PPID                   int
	Flags                  uint64 // PF_*
	UTime, STime           uint64 // clock ticks
	ChildUTime, ChildSTime uint64 // of descendants that were waited for
	Threads                int    // of the process
	// StartTime, in clock ticks since boot, and PID identify a thread.
	StartTime uint64
	Comm      Comm
	State     byte // one of R S D T t Z X I
	Processor int  // last CPU, −1 if unknown
	// RTPriority is 1 to 99 for SCHED_FIFO and SCHED_RR, else 0; Policy as in sched(7).
	RTPriority, Policy int
	// StartCode and StartStack are addresses of program and stack: 0 while an exec loads the program, and after the
	// process's end; 1 and 0 if hidden (fs/proc/array.c, do_task_stat).
	StartCode, StartStack uint64
}

// Flags of include/linux/sched.h.
const (
	flagsUserWorker  = 0x10 | 0x4000 // PF_IO_WORKER, PF_USER_WORKER
	flagKernelThread = 0x00200000    // PF_KTHREAD
)

// KernelThread reports a thread of the kernel.
func (s *Stat) KernelThread() bool { return s.Flags&flagKernelThread != 0 }

// Ended reports whether a first thread's process has ended. A first thread that ends before others is a zombie, and
// counted in Threads (kernel/exit.c, delay_group_leader).
func (s *Stat) Ended() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }

// UserWorker reports a process's thread without user space (io_uring, vhost).
func (s *Stat) UserWorker() bool { return s.Flags&flagsUserWorker != 0 && !s.KernelThread() }

// ParseStat parses stat. The name ends at the last ")". Error: [errFormat]; s is then zero.
func ParseStat(b []byte, s *Stat) error {
	*s = Stat{}
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return errFormat
	}
	head := Cursor{Text: b[:open]}
	s.PID = int(head.Uint())
	s.Comm.set(b[open+1 : shut])
	c := Cursor{Text: b[shut+1:]}
	if w := c.Word(); len(w) == 1 {
		s.State = w[0]
	} else {
		c.Bad = true
	}
	s.parseFields(&c)
	if head.Bad || c.Bad {
		*s = Stat{}
		return errFormat
	}
	return nil
}

// parseFields reads the fields from the fourth on, of which those up to the start time are required.
func (s *Stat) parseFields(c *Cursor) {
	var v [42]uint64 // by number
	n := 4
	for ; n < len(v); n++ {
		if v[n] = uint64(c.Int()); c.Bad {
			break
		}
	}
	c.Bad = n <= 22
	s.PPID, s.Flags, s.UTime, s.STime = int(v[4]), v[9], v[14], v[15]
	s.ChildUTime, s.ChildSTime = uint64(max(int64(v[16]), 0)), uint64(max(int64(v[17]), 0)) // signed in the file
	s.Threads, s.StartTime, s.Processor = int(v[20]), v[22], -1
	if n > 39 {
		s.StartCode, s.StartStack, s.Processor = v[26], v[28], int(v[39])
	}
	if n > 41 {
		s.RTPriority, s.Policy = int(v[40]), int(v[41])
	}
}

// identity distinguishes threads with the same id where files are not kept open.
type identity struct {
	inode uint64
	start uint64 // clock ticks since boot
}

// isSameThread compares the inode; if that differs (fs/proc/base.c, pid_revalidate; or memory pressure), the start
// time.
func (i *identity) isSameThread(fd int, f *ThreadFiles) bool {
	st, e := fstat(fd)
	if e != 0 {
		return false
	}
	if st.Ino == i.inode {
		return true
	}
	stat, e := f.open(fileStat)
	if e != 0 {
		return false
	}
	var buf [1024]byte
	var s Stat
	n, _ := pread(stat, buf[:], 0)
	closeFD(stat)
	if ParseStat(buf[:n], &s) != nil || i.inode != 0 && s.StartTime != i.start {
		return false
	}
	i.inode, i.start = st.Ino, s.StartTime
	return true
}
