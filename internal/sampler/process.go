package sampler

import (
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
	"prywalk/ptrace"
)

// process is one process that is sampled. The first block belongs to the
// controller, the second to the accountant.
type process struct {
	target  *target.Process
	tasks   *procmem.TaskDir
	threads map[int]*thread
	order   []*thread
	tids    []int
	extra   ptrace.Extra
	listed  int64 // when the threads were listed, CLOCK_MONOTONIC ns
	child   bool  // it was started by one that was sampled: it counts from its start
	first   bool  // the threads that lived at the start are listed
	gone    bool
	cpu0    uint64 // the process's clock at the start, ns
	cpu     uint64 // and as of the last tick
	seen    int64  // generation of the last listing

	refreshed int64 // when the mappings were read, CLOCK_MONOTONIC ns
	comm      string
	booked    int64 // CPU time booked so far, ns
	exited    bool
}

// refresh reads the mappings anew; true if they changed.
func (p *process) refresh(now int64) bool {
	p.refreshed = now
	changed, err := p.target.Refresh()
	if p.target.Comm != "" {
		p.comm = p.target.Comm
	}
	return err == nil && changed
}

// thread is one thread of a process.
type thread struct {
	proc *process
	look *look.Thread

	// The controller's.
	generation int64
	reuses     int64 // ticks at which it was found unchanged since its last event
	unchanged  Reading
	dead       bool
	born       bool // its birth was seen: its clocks count from zero
	bornAt     int64

	// The accountant's.
	name    string
	named   int64 // when the name was read, CLOCK_MONOTONIC ns
	clock   threadClock
	lastID  seen
	started bool
	looks   int64
	firstAt int64
	lastAt  int64
}
