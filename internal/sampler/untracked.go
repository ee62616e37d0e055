package sampler

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/descendants"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/profile"
)

// # Processes that nobody meets
//
// Most commands of a script end before the search for children finds them. The kernel's samples show them all the same,
// and its records say what they run (package descendants). So a sample of one is kept until its process has ended, or
// is met. Then it has a claim on what the children of the nearest process that was met have used
// ([booking.Process.ClaimOfChild]), or on what the process itself has.

const (
	// mostUntrackedShots bounds how many of their samples wait.
	mostUntrackedShots = 1024
	// untrackedFor is for how long a sample waits for its process to be met or to end, in nanoseconds.
	untrackedFor = 1e9
)

// ranProgram is what such a process runs.
type ranProgram = descendants.Program[*processAccount]

// untrackedProcesses are the descendants of those sampled that nobody has met. They belong to the tracer.
type untrackedProcesses struct {
	table   *descendants.Table[*processAccount, untrackedShot] // nil: children are not followed
	waiting int                                                // samples
	// when those without an end were looked for, CLOCK_MONOTONIC ns
	swept int64
}

// untrackedShot is a sample of such a process.
type untrackedShot struct {
	tid  int
	shot *look.Shot
	in   *ranProgram
}

// drain drains the kernel's records.
func (u *untrackedProcesses) drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	if u.table == nil {
		r.Drain(take)
		return
	}
	u.table.Drain(r, take)
}

// keepUntracked keeps a sample of a process that nobody has met, if it is one of those sampled.
func (c *tracer) keepUntracked(r *perfevents.Record) {
	k := &c.samples
	if k.untracked.table == nil {
		return
	}
	p := k.untracked.table.Find(r.PID)
	switch {
	case p == nil:
	case !r.Usable() && !r.NoUser:
		k.unusable++
	case k.untracked.waiting >= mostUntrackedShots || c.pool.Waiting() > maxBacklog:
		k.dropped++
	default:
		k.taken++
		k.untracked.waiting++
		p.Kept = append(p.Kept, untrackedShot{r.TID, c.looker.FromSample(r), p.At(r.Time)})
	}
}

// handOverUntracked hands over the samples of processes that have ended, or that were not met for long.
func (c *tracer) handOverUntracked(now int64) {
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	if now-u.swept >= checkEvery {
		u.swept = now
		u.table.Sweep()
	}
	for p := range u.table.All() {
		if p.Ended || len(p.Kept) > 0 && now-p.Kept[0].shot.At > untrackedFor {
			for _, s := range p.Kept {
				c.claimInto(childSampled, p.Waiter, s)
			}
			u.waiting -= len(p.Kept)
			p.Kept = p.Kept[:0]
		}
	}
}

// claimInto hands over a sample that has a claim.
func (c *tracer) claimInto(kind eventKind, to *processAccount, s untrackedShot) {
	s.in.Keep()
	c.claim(event{kind: kind, proc: to, shot: s.shot, ran: s.in})
}

// meetProcess gives a process that was just met the samples that came before. Those of what it ran before it called
// exec are of no thread of it: they have a claim on what is unseen of it.
func (c *tracer) meetProcess(p *process) {
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	before := u.table.Track(p.target.PID, p.account)
	if before == nil {
		return
	}
	u.waiting -= len(before.Kept)
	for _, s := range before.Kept {
		if s.in == before.Last() && s.shot.Regs.Arch != frames.ArchUnknown && p.sampled &&
			len(c.samples.strays) < mostStrays {
			c.samples.strays = append(c.samples.strays, stray{p, s.tid, s.shot})
		} else {
			c.claimInto(sampledEnded, p.account, s)
		}
	}
}

// forgetProcess takes note that a process that was met has ended.
func (c *tracer) forgetProcess(p *process) {
	if t := c.samples.untracked.table; t != nil {
		t.Forget(p.target.PID, p.account)
	}
}

// forgetUntracked ends the account of processes that nobody has met. If the recording goes on, somebody may still wait
// for them, and their samples are handed over. Else they have a claim on nothing.
func (c *tracer) forgetUntracked(goesOn bool) {
	u := &c.samples.untracked
	if u.table == nil {
		return
	}
	for p := range u.table.All() {
		for _, s := range p.Kept {
			if goesOn {
				c.claimInto(childSampled, p.Waiter, s)
			} else {
				c.looker.Drop(s.shot)
			}
		}
	}
	*u = untrackedProcesses{}
}

// listedProgram is the code of a process that was never opened, as far as the kernel's records tell.
type listedProgram struct {
	program *ranProgram
	code    *code.Listed
	modules map[*frames.Module]*profile.ModuleInfo
}

// unwindSample walks a sample of what a process ran: g, or nil for what the thread's process runs.
func (u *unwinder) unwindSample(th *threadAccount, g *ranProgram, s *look.Shot) (profile.StackID, frames.StopReason) {
	if g != nil && g.Of != nil {
		th, g = g.Of.stranger(), nil
	}
	switch {
	case s.Regs.Arch == frames.ArchUnknown: // it calls exec or exit: there is no user's stack
		return u.unwindKernel(s, frames.StopRoot)
	case g == nil && th.proc.closed:
		return u.unwindKernel(s, frames.StopBadMemory)
	case g == nil:
		return u.unwind(th, s)
	}
	return u.unwindListed(th.proc, g, s)
}

// unwindListed walks a sample of a process of which only the mappings are known.
func (u *unwinder) unwindListed(payer *processAccount, g *ranProgram, s *look.Shot) (profile.StackID,
	frames.StopReason) {
	u.books.lend() // files are opened
	defer u.books.back()
	l := u.listed(payer, g)
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	w := &u.walker
	for w.Init(l.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		u.methods[f.Method]++
		loc := profile.Loc{Addr: f.Lookup(s.Regs.Arch)}
		if f.Module != nil {
			info := l.modules[f.Module]
			if info == nil {
				info = moduleInfo(payer.target.PID, f.Module)
				l.modules[f.Module] = info
			}
			loc.Module = info
		}
		u.stack = append(u.stack, u.builder.Loc(&loc))
	}
	return u.end(w.StopReason())
}

// listed gives a program's code. Samples of one program come together, so only the last one's is kept.
func (u *unwinder) listed(payer *processAccount, g *ranProgram) *listedProgram {
	if u.last.program != g {
		for _, info := range u.last.modules {
			u.builder.Released(info)
		}
		u.last = listedProgram{
			program: g,
			code:    u.images.Listed(payer.target.Arch, g.Maps, payer.target.PID),
			modules: map[*frames.Module]*profile.ModuleInfo{},
		}
	}
	return &u.last
}

// inKernel is the stack of a sample of a process without a user's stack, where the kernel's frames are left out.
const inKernel = "[exec or exit]"

// unwindKernel gives the stack of a sample of which there are only the kernel's frames.
func (u *unwinder) unwindKernel(s *look.Shot, stop frames.StopReason) (profile.StackID, frames.StopReason) {
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	if len(u.stack) == 0 {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: inKernel}))
	}
	return u.end(stop)
}

// end marks a stack that does not reach its root, and gives its number.
func (u *unwinder) end(stop frames.StopReason) (profile.StackID, frames.StopReason) {
	if !stop.Complete() {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: "[incomplete: " + stop.String() + "]"}))
	}
	return u.builder.InternLocs(u.stack), stop
}
