// SPDX-License-Identifier: Apache-2.0

package procmem

// SyscallInfo is /proc/PID/syscall (fs/proc/base.c, proc_pid_syscall).
type SyscallInfo struct {
	Nr      int64     // −1: none
	Args    [6]uint64 // zero outside a call
	SP, PC  uint64    // in user space
	Running bool      // on a CPU or queued; all else is then unknown
}

// parseSyscall parses "running"; "-1 SP PC"; or a number, six arguments, SP and PC.
func parseSyscall(b []byte) (SyscallInfo, error) {
	c := Cursor{Text: b}
	c.skip()
	if len(c.Text) > 0 && c.Text[0] == 'r' {
		if string(c.Word()) == "running" {
			return SyscallInfo{Running: true, Nr: -1}, nil
		}
		return SyscallInfo{}, errFormat
	}
	s := SyscallInfo{Nr: c.Int()}
	if s.Nr != -1 {
		for i := range s.Args {
			s.Args[i] = c.Hex()
		}
	}
	s.SP, s.PC = c.Hex(), c.Hex()
	if c.Bad {
		return SyscallInfo{}, errFormat
	}
	return s, nil
}
