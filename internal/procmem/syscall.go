// SPDX-License-Identifier: Apache-2.0

package procmem

// SyscallInfo is /proc/PID/syscall (fs/proc/base.c, proc_pid_syscall).
type SyscallInfo struct {
	// Nr is the system call, −1: none.
	Nr int64
	// Args are its arguments, or zero.
	Args [6]uint64
	// SP and PC are user-space registers.
	SP, PC uint64
	// Running means on a processor or queued: the rest is unknown.
	Running bool
}

// ParseSyscall parses "running"; "-1 SP PC"; or number, six arguments, SP, PC. Error: [ErrFormat].
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
