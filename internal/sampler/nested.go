package sampler

import "prywalk/internal/procmem"

// inside gives the number of a thread or process in its own pid namespace, the innermost
// of those that it is in; 0 if it is the same as here, or not known.
func inside(id int) int {
	var s procmem.Status
	if procmem.ReadStatus(id, &s) != nil || s.NSpidN < 2 {
		return 0
	}
	if in := s.NSpid[s.NSpidN-1]; in != id {
		return in
	}
	return 0
}
