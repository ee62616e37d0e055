package look

import "prywalk/internal/target"

// Wait says what a thread that does not run waits for: the name of the system call
// that it sleeps in, "stopped", or the kernel's reason; empty for a running one.
func (s *Shot) Wait() string {
	switch {
	case s.State == Running:
		return ""
	case s.State == Stopped:
		return "stopped"
	case s.Call.Nr >= 0:
		return target.SyscallName(s.Regs.Arch, s.Call.Nr)
	}
	return "page-fault"
}
