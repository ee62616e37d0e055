package callstack

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// Plan gives what is to be copied besides a thread's stack, by the first run-time system that the thread belongs to and
// that needs more; nil if none does. pthread is the thread pointer, 0 if it is not known.
func Plan(namers []managed.Namer, tid int, pthread uint64) (*managed.Plan, frames.Addr) {
	for _, n := range namers {
		p, ok := n.(managed.Planner)
		if !ok {
			continue
		}
		if plan := p.Plan(); plan != nil {
			if anchor, ok := p.Anchor(tid, pthread); ok {
				return plan, anchor
			}
		}
	}
	return nil, 0
}
