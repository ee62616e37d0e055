package look

import "prywalk/internal/process"

// Wait says what a thread that does not run waits for. That is the name of the system call that it sleeps in, or
// "stopped", or the kernel's reason where it sleeps in none, as for a page. It is empty for a running one, and where
// the kernel does not say.
func (s *Shot) Wait() string {
	switch s.State {
	case Running:
		return ""
	case Stopped:
		return "stopped"
	}
	return process.WaitLabel(s.Regs.Arch, s.State.Letter()[0], s.Call.Nr, s.wchan)
}
