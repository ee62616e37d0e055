// SPDX-License-Identifier: Apache-2.0

package procmem

// SyscallInfo is what /proc/PID/syscall shows of a thread that is off the
// processor (kernel fs/proc/base.c, proc_pid_syscall).
type SyscallInfo struct {
	// Nr is the number of the system call that it is in, −1 if it is in none
	// (stopped by a fault, or pre-empted). Architecture's own numbering.
	Nr int64
	// Args are the system call's arguments, zero if it is in none.
	Args [6]uint64
	// SP and PC are its user-space registers.
	SP, PC uint64
	// Running: the thread was on a processor or queued for one, nothing else
	// is known.
	Running bool
}

// ParseSyscall reads the three forms of the file: "running", "-1 SP PC", and
// number, six arguments, SP, PC. Error: [ErrFormat].
func ParseSyscall(b []byte) (SyscallInfo, error) {
	c := cursor{b: b}
	c.skip()
	if len(c.b) > 0 && c.b[0] == 'r' {
		if string(c.word()) == "running" {
			return SyscallInfo{Running: true, Nr: -1}, nil
		}
		return SyscallInfo{}, ErrFormat
	}
	s := SyscallInfo{Nr: c.int()}
	if s.Nr != -1 {
		for i := range s.Args {
			s.Args[i] = c.hex()
		}
	}
	s.SP, s.PC = c.hex(), c.hex()
	if c.bad {
		return SyscallInfo{}, ErrFormat
	}
	return s, nil
}
