// SPDX-License-Identifier: Apache-2.0

package target

import (
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
)

// # Exec
//
// [Process.FindExec] finds an exec by the new address space. Some 50 µs earlier the other threads have ended, and files
// of the first one go on with the clocks of the caller (package sampler, doc.go). So until then
//
//   - a listing is not applied ([Process.MayBeInExec]): the caller has not ended
//   - what is read of the first thread is not used, if the caller can have been read ([Thread.MayBeExecCaller])
//   - a thread that a stop does not find has not ended ([Process.IsSettled])

type execState struct {
	addressSpace uint64        // of the tracked program
	aloneSince   time.Duration // 1 + CPU time of the first thread when found alone; 0 means not alone

	// changingSince is the first listing without threads or of an ended address space; 0 means that the last had threads
	// and a live address space.
	changingSince monotonic.Moment
}

// FindExec reports, once, that the process runs another program than before, and opens its memory. caller is the thread
// whose clocks go on as the first one's, or nil. Of several possible ones it assumes the one with most CPU time: then
// no time is counted twice, and the difference is that of ended threads ([attribute.ProcessEnd]).
func (p *Process) FindExec() (caller *Thread, found bool) {
	before := p.exec.addressSpace
	p.exec.addressSpace = p.Code.Memory().Renew(p.Code.PID)
	if p.exec.addressSpace == before {
		return nil, false
	}
	first := p.FirstThread()
	clocks, err := p.SchedStat(first, p.Code.PID)
	if err != nil {
		return nil, true
	}
	for _, th := range p.Threads.All() {
		last := &th.AccountedClocks
		older := last.CPU <= clocks.CPU && last.RunQueue <= clocks.RunQueue && last.Runs <= clocks.Runs
		mostCPU := caller == nil || last.CPU > caller.AccountedClocks.CPU
		if older && mostCPU && !th.Gone && (th == first || !th.Exists()) {
			caller = th
		}
	}
	return caller, true
}

// runsTrackedProgram reports whether the address space is alive, and that of the tracked program.
func (p *Process) runsTrackedProgram() bool {
	memory := p.Code.Memory()
	return memory.Space() == p.exec.addressSpace && !memory.Ended()
}

// IsSettled reports whether no exec by a thread other than the first is in progress. What was just read of the first
// thread is then of the tracked thread, and a thread that was just missing has ended.
func (p *Process) IsSettled() bool {
	if p.Threads.Len() <= 1 {
		return true
	}
	n, err := p.TaskDir.Count()
	return err == nil && n > 1 && p.runsTrackedProgram()
}

// MayBeExecCaller reports whether clocks that were just read of a first thread may be those of another, which has
// called exec. s is the raw sample that has them, or nil. During an exec its caller does not stop, nor is it in another
// system call than execve.
func (th *Thread) MayBeExecCaller(clocks procmem.SchedStat, s *observe.RawSample) bool {
	last := &th.AccountedClocks
	switch {
	case !th.IsFirst() || clocks == *last:
		return false
	case clocks.CPU < last.CPU || clocks.Runs < last.Runs:
		return true
	case th.Proc.IsSettled():
		return false
	}
	outOfExec := s != nil && (s.How == observe.ByStop || s.How == observe.ByPassiveRead && inOtherCall(s))
	return !outOfExec || !th.Proc.runsTrackedProgram()
}

// inOtherCall reports whether a thread that was read passively was in a system call that is no exec.
func inOtherCall(s *observe.RawSample) bool {
	exec := s.Call.Nr == unix.SYS_EXECVE || s.Call.Nr == unix.SYS_EXECVEAT
	return !s.Call.Running && s.Call.Nr >= 0 && !exec
}

// MayBeInExec reports whether a listing of a live process may have been read during an exec that is not found yet:
//
//	no thread                       the calling task is getting the first thread's number
//	the address space has ended     the new one is not open yet
//	only the first thread is left   it may be about to replace the address space
func (p *Process) MayBeInExec(tids []int, now monotonic.Moment) bool {
	state := &p.exec
	if p.Threads.Len() <= 1 {
		state.changingSince, state.aloneSince = 0, 0
		return false
	}
	if len(tids) == 0 || !p.runsTrackedProgram() {
		return p.mayBeChangingProgram(now)
	}
	state.changingSince = 0
	if len(tids) > 1 || tids[0] != p.Code.PID {
		state.aloneSince = 0
		return false
	}
	return p.firstThreadMayExec()
}

// mayBeChangingProgram reports whether an exec may still be in progress, for longestChange at most: a new program that
// prywalk is not permitted to read never shows.
func (p *Process) mayBeChangingProgram(now monotonic.Moment) bool {
	state := &p.exec
	if state.changingSince == 0 {
		state.changingSince = now
	}
	if now.Sub(state.changingSince) >= longestChange {
		return false
	}
	p.Threads.HintChange()
	return true
}

// firstThreadMayExec reports whether the first thread, alone, may be about to replace the address space: it was just
// found alone, or does not sleep and has not used longestExec of CPU time since.
func (p *Process) firstThreadMayExec() bool {
	state := &p.exec
	p.Threads.HintChange()
	var st procmem.Stat
	clocks, err := p.SchedStat(p.FirstThread(), p.Code.PID)
	switch {
	case err != nil || procmem.ReadStat(p.Code.PID, &st) != nil:
		return false
	case state.aloneSince == 0:
		state.aloneSince = time.Duration(clocks.CPU + 1)
		return true
	}
	return (st.State == 'R' || st.State == 'D') && time.Duration(clocks.CPU) < state.aloneSince+longestExec
}

// longestExec is the CPU time between the end of the other threads and the new address space: some 50 µs, and the
// error of a running thread's clock.
const longestExec = 15 * time.Millisecond

// longestChange is the wall time between the end of an address space and the opening of the next one.
const longestChange = time.Second
