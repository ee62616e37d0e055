package sampler

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/booking"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/profile"
	"prywalk/ptrace"
)

// nameEvery is how old a thread's name may get, in nanoseconds: programs name
// their threads after they started them.
const nameEvery = 1e9

// processAccount is what the accountant knows of one process. The tracer makes it, and hands it over.
type processAccount struct {
	target *code.Process
	book   booking.Process
	comm   string
	nsPID  int // its number in its own pid namespace, 0 if it is the same
	main   *frames.Module
	closed bool
	parent int // of a child: whose it was when it was found
	// fromStart: all its time lies within the recording. It is not written later.
	fromStart bool
	member    *booking.Member // nil: what its children used is not booked
	// waiter books what is unseen of it and of its children; nil: it does so itself.
	waiter *processAccount
	// modules are the recording's descriptions of the modules that were walked; remapped: some may have gone.
	modules  map[*frames.Module]*profile.ModuleInfo
	remapped bool
	managed  managedNames

	// lack, for the tracer, is what the kernel's samples lack of the process (type lack). walked are those so far.
	lack   atomic.Uint32
	walked samplesWalked

	// strangers is for samples of threads that nobody met.
	strangers *threadAccount

	refreshed   int64 // when the mappings were read, CLOCK_MONOTONIC ns
	refreshCost int64 // how much processor time that took, ns

	waits *waiting // nil until its first thread's account begins

	// extra is for the tracer: what it is to copy besides stacks from now on, as the program is another.
	extra atomic.Pointer[ptrace.Extra]
	// plans is for the tracer, too: what it copies of threads that were not walked yet.
	plans look.Plans
}

// refresh reads the mappings anew, and the code that was made at run time; true if either
// changed. When the program is another, what is copied with its stacks is found anew.
func (p *processAccount) refresh(now int64) bool {
	p.refreshed = now
	var changed bool
	var err error
	p.refreshCost = int64(ownruntime.CPUOf(func() { changed, err = p.target.Refresh() }))
	if err != nil || !changed {
		return false
	}
	p.remapped = true
	p.plans.Store(callstack.FirstPlan(p.target.Namers()))
	if m := p.target.Main(); m != p.main {
		if p.target.Comm != "" { // else the name that it has been given since stays
			p.comm = p.target.Comm
		}
		extra := look.TaskStacks(p.target)
		p.extra.Store(&extra)
		p.foreseeLack(extra != nil)
		p.main = m
	}
	return true
}

// threadAccount is what the accountant knows of one thread. The tracer makes it, and hands it over.
type threadAccount struct {
	proc  *processAccount
	tid   int
	walks *look.Walks
	book  booking.Thread

	name  string
	nsTID int   // its number in its own pid namespace, 0 if it is the same
	met   int64 // when it was first listed, CLOCK_MONOTONIC ns; not written later
	named int64 // when the name was read
	given bool  // by a run-time system, when it was asked last

	file lastFile // that it was last seen to wait for
}

// stranger gives the account that stands for threads of the process which nobody met.
func (p *processAccount) stranger() *threadAccount {
	if p.strangers == nil {
		p.strangers = &threadAccount{proc: p, walks: look.NewThread(p.target.PID, p.target.PID, nil).Walks()}
	}
	return p.strangers
}

// rename reads the thread's name anew from time to time: the program's own, where a run-time system knows it, else the
// kernel's. A thread leaves a run-time system's list before it ends, so that the name stays for one question more. Of
// one that was just met the program's own is asked for until it is told: else it would have two names in the recording.
func (th *threadAccount) rename(now int64) {
	namers := th.proc.target.Namers()
	due := now-th.named >= nameEvery
	if !due && (th.given || len(namers) == 0 || now-th.met >= nameEvery) {
		return
	}
	name, ok := callstack.ThreadName(namers, th.innerTID())
	if !due && !ok {
		return
	}
	th.named = now
	switch {
	case ok:
		th.name, th.given = name, true
	case th.given:
		th.given = false
	default:
		th.renameByKernel()
	}
}

// renameByKernel reads the name that the kernel has for the thread.
func (th *threadAccount) renameByKernel() {
	if name := th.proc.target.ThreadName(th.tid); name != "" {
		th.name = name
	}
}
