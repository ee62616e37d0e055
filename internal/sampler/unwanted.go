package sampler

import "slices"

// forgetUnwanted drops the threads that --threads leaves out and that have ended, when there are more of them than
// threads: another thread may get their number.
func (p *process) forgetUnwanted(tids []int) {
	if len(p.unwanted) <= len(tids) {
		return
	}
	slices.Sort(tids) // the kernel's order, by birth, is of use to nobody from here on
	for tid := range p.unwanted {
		if _, there := slices.BinarySearch(tids, tid); !there {
			delete(p.unwanted, tid)
		}
	}
}
