package sampler

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// process is one process that is sampled. The first block belongs to the
// controller, the second to the accountant.
type process struct {
	target  *code.Process
	tasks   *procmem.TaskDir
	threads map[int]*thread
	order   []*thread
	tids    []int
	extra   ptrace.Extra
	listed  int64 // when the threads were listed, CLOCK_MONOTONIC ns
	// listedCPU is the process's clock as of then.
	listedCPU uint64
	youngest  int64 // when the end of the list was looked at for newborn threads, CLOCK_MONOTONIC ns
	births    int64 // the count of births then
	ran       int64 // when its clock was last seen to have moved, CLOCK_MONOTONIC ns
	child     bool  // it was started by one that was sampled: it counts from its start
	first     bool  // the threads that lived at the start are listed
	gone      bool
	cpu0      uint64 // the process's clock at the start, ns
	cpu       uint64 // and as of clockAt
	clockAt   int64  // the tick at which it was read, CLOCK_MONOTONIC ns
	clocked   bool   // it could be read
	hint      bool   // a thread has come or gone since
	seen      int64  // generation of the last listing
	leader    procmem.Comm
	since     int64 // when sampling it began, CLOCK_MONOTONIC ns; not written later
	// endedCPU is what those of its threads used, in all their lives, that ended while it was sampled, ns. The
	// accountant reads it when the process's account is closed; before, it is what others had used, below zero.
	endedCPU int64
	tallied  bool // that is known
	closed   bool // its account
	// unwanted are the threads that --threads leaves out, and when to look at
	// their names again: programs name their threads after they started them.
	unwanted map[int]unwanted

	awake    []*thread // to be looked at in this tick
	napping  int       // threads that are backed off
	known    int64     // what the looks at threads explain of the clock since stirred
	stirred  uint64    // the clock when all that were backed off were last looked at
	slack    slack
	stirNext int64 // when that may be done next, CLOCK_MONOTONIC ns
	roll     []rollEntry
	rolled   bool // a census was taken in this tick
	resting  int  // threads that wait for one to show that they ran

	nextExtra atomic.Pointer[ptrace.Extra] // from the accountant, after an exec

	refreshCost int64 // how much processor time that took, ns
	refreshed   int64 // when the mappings were read, CLOCK_MONOTONIC ns
	comm        string
	used        int64 // CPU time of its threads from the first look at each to the last, by their own clocks, ns
	endedSeen   int64 // what their clocks showed at the last looks at those that have ended, ns
	nsPID       int   // its number in its own pid namespace, 0 if it is the same
	main        *frames.Module
	exited      bool
	// modules are the recording's descriptions of the modules that were walked; remapped: some may have gone.
	modules   map[*frames.Module]*profile.ModuleInfo
	remapped  bool
	claims    claims // of threads that lived shortly, on what is unseen
	givenBack int64  // what their clocks had carried when they ended, ns
}

// unwanted is a thread that is not sampled because of its name.
type unwanted struct{ since, again int64 }

// refuse notes that a thread is not wanted, and looks at its name again soon, then
// less and less often.
func (p *process) refuse(tid int, now int64) {
	if p.unwanted == nil {
		p.unwanted = map[int]unwanted{}
	}
	u := p.unwanted[tid]
	if u.since == 0 {
		u.since = now
	}
	u.again = now + min(now-u.since, nameEvery)
	p.unwanted[tid] = u
}

// readCPU reads the process's clock. It never falls: should it seem to, the number
// is another process's by now, and so it is when this one has no threads left.
// It is not asked for then: alive tells that it has some.
func (p *process) readCPU(alive bool) {
	if p.clocked = alive; !alive {
		return
	}
	cpu, err := procmem.ProcessCPU(p.target.PID)
	if p.clocked = err == nil; p.clocked {
		p.cpu = max(p.cpu, cpu)
	}
}

// alive reports whether the process has threads left.
func (p *process) alive() bool {
	n, err := p.tasks.Count()
	return err == nil && n > 0
}

// refresh reads the mappings anew, and the code that was made at run time; true if either
// changed. When the program is another, what is copied with its stacks is found anew.
func (p *process) refresh(now int64) bool {
	p.refreshed = now
	var changed bool
	var err error
	p.refreshCost = int64(cpuOf(func() { changed, err = p.target.Refresh() }))
	if err != nil || !changed {
		return false
	}
	p.remapped = true
	if m := p.target.Main(); m != p.main {
		if p.target.Comm != "" { // else the name that it has been given since stays
			p.comm = p.target.Comm
		}
		next := look.GoStacks(p.target)
		p.nextExtra.Store(&next)
		p.main = m
	}
	return true
}

// thread is one thread of a process.
type thread struct {
	proc *process
	look *look.Thread

	// The controller's.
	generation int64
	nap        nap
	reuses     int64 // ticks at which it was unchanged since its last event
	unchanged  Reading
	dead       bool
	left       look.Left // what is not told yet when it ends; the accountant's from then on
	born       bool      // its birth was seen: its clocks count from zero
	bornAt     int64
	before     Reading // its clocks before its first look, zero if it was born later; not written later
	rest       Reading // and when the process's account was closed
	firstTick  int64   // at which it was met, if its birth was seen
	tick       int64   // the last tick at which it was looked at
	turn       int64   // in which its clocks were last read for a tally
	alive      bool    // it goes on after the recording
	shown      int64   // its processor time as of the last look that met it at work, ns
	shownOnce  bool    // shown is valid

	// The accountant's.
	name    string
	nsTID   int   // its number in its own pid namespace, 0 if it is the same
	met     int64 // when it was first listed, CLOCK_MONOTONIC ns
	named   int64 // when the name was read
	clock   threadClock
	early   []booking // looks that wait until it is known what they are worth
	started bool
	met1    bool    // it has been met on a processor
	claim   claimed // of that look, on what is unseen of its process
	looks   int64
	firstAt int64
	lastAt  int64
}
