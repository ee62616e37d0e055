package sampler

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// # Processes that nobody meets
//
// Most commands of a script end before the search for children finds them. The kernel's samples show them all the same,
// and its records say whose children they are, what they run, and where its code is mapped. So a sample of one is kept
// until its process has ended, or is met. Then it has a claim on what the children of the nearest process that was met
// have used ([booking.Process.ClaimOfChild]), or on what the process itself has.

const (
	// mostUnmet bounds how many processes are known by records alone, mostUnmetShots how many of their samples wait, and
	// mostMappings how many mappings each has.
	mostUnmet      = 1 << 14
	mostUnmetShots = 1024
	mostMappings   = 1 << 12
	// unmetFor is for how long a sample waits for its process to be met or to end, in nanoseconds.
	unmetFor = 1e9
)

// unmetProcesses are the descendants of those sampled that nobody has met. They belong to the tracer.
type unmetProcesses struct {
	known   map[int]*unmet   // by process number; nil: children are not followed
	met     map[int]*process // those that are sampled
	waiting int              // samples
	records []taskRecord     // of this tick
	names   []byte           // theirs
	swept   int64            // when those without an end were looked for, CLOCK_MONOTONIC ns
}

// unmet is one of them.
type unmet struct {
	payer *process // the nearest of its ancestors that was met
	runs  *ranProgram
	ran   []formerly // before
	shots []unmetShot
	ended bool
}

// ranProgram is what such a process runs. The accountant reads what it was handed.
type ranProgram struct {
	of     *processAccount // it was forked from this one, and runs its code; nil: see maps
	name   string
	maps   []code.Mapping
	handed bool // it is not written any more

	walked *listedProgram // the accountant's
}

// formerly is what a process ran until it called exec.
type formerly struct {
	program *ranProgram
	until   int64 // CLOCK_MONOTONIC, ns
}

// unmetShot is a sample of such a process.
type unmetShot struct {
	tid  int
	shot *look.Shot
	in   *ranProgram
}

// taskRecord is a record of a birth, an end, a name or a mapping, with its name in names.
type taskRecord struct {
	perfevents.Record
	from, to int
}

// drain drains the kernel's records. What they say of births and programs is heard first.
func (u *unmetProcesses) drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	if u.known == nil {
		r.Drain(take)
		return
	}
	u.records, u.names = u.records[:0], u.names[:0]
	r.DrainTasksFirst(u.note, func(rec *perfevents.Record) {
		if len(u.records) > 0 {
			u.hearAll()
		}
		take(rec)
	})
	u.hearAll()
}

// note keeps a record until those of all processors are there: they are in order on each only.
func (u *unmetProcesses) note(r *perfevents.Record) {
	if r.Kind == perfevents.Forked && r.PID == r.PPID || r.Kind == perfevents.Exited && r.PID != r.TID {
		return // a thread of a process
	}
	from := len(u.names)
	u.names = append(u.names, r.Name...)
	n := taskRecord{*r, from, len(u.names)}
	n.Name, n.Stack = nil, nil
	u.records = append(u.records, n)
}

// hearAll takes note of what the records say, in the order of time.
func (u *unmetProcesses) hearAll() {
	slices.SortStableFunc(u.records, func(a, b taskRecord) int { return cmp.Compare(a.Time, b.Time) })
	for i := range u.records {
		u.hear(&u.records[i])
	}
	u.records = u.records[:0]
}

func (u *unmetProcesses) hear(r *taskRecord) {
	if r.Kind == perfevents.Forked {
		u.born(r)
		return
	}
	p := u.known[r.PID]
	if p == nil {
		return
	}
	name := u.names[r.from:r.to]
	switch {
	case r.Kind == perfevents.Exited:
		p.ended = true
	case r.Kind == perfevents.Named && r.Exec:
		p.ran = append(p.ran, formerly{p.runs, r.Time})
		p.runs = &ranProgram{name: string(name)}
	case r.Kind == perfevents.Mapped && p.runs.of == nil && len(p.runs.maps) < mostMappings:
		p.runs = p.runs.own()
		p.runs.maps = append(p.runs.maps, code.Mapping{
			Start: r.Addr, End: r.Addr + r.Len, Offset: r.Off, Dev: r.Dev, Inode: r.Inode, Path: string(name),
			Perm: code.PermRead | code.PermExec,
		})
	}
}

// born takes note of a child of a process that was met, or of another one that was not.
func (u *unmetProcesses) born(r *taskRecord) {
	if u.met[r.PID] != nil || len(u.known) >= mostUnmet {
		return
	}
	if p := u.met[r.PPID]; p != nil {
		u.known[r.PID] = &unmet{payer: p, runs: &ranProgram{of: p.account}}
	} else if p := u.known[r.PPID]; p != nil {
		p.runs.handed = true // it has two owners
		u.known[r.PID] = &unmet{payer: p.payer, runs: p.runs}
	}
}

// own gives a program that can be written.
func (g *ranProgram) own() *ranProgram {
	if !g.handed {
		return g
	}
	return &ranProgram{of: g.of, name: g.name, maps: slices.Clone(g.maps)}
}

// at gives what the process ran at a moment.
func (p *unmet) at(t int64) *ranProgram {
	for i := range p.ran {
		if t < p.ran[i].until {
			return p.ran[i].program
		}
	}
	return p.runs
}

// takeUnmet keeps a sample of a process that nobody has met, if it is one of those sampled.
func (c *tracer) takeUnmet(r *perfevents.Record) {
	k := &c.samples
	p := k.unmet.known[r.PID]
	switch {
	case p == nil || k.unmet.met[r.PID] != nil:
	case !r.Usable() && !r.NoUser:
		k.unusable++
	case k.unmet.waiting >= mostUnmetShots || c.pool.Waiting() > maxBacklog:
		k.dropped++
	default:
		k.taken++
		k.unmet.waiting++
		p.shots = append(p.shots, unmetShot{r.TID, c.looker.FromSample(r), p.at(r.Time)})
	}
}

// handOverUnmet hands over the samples of processes that have ended, or that were not met for long.
func (c *tracer) handOverUnmet(now int64) {
	u := &c.samples.unmet
	sweep := now-u.swept >= checkEvery
	if sweep {
		u.swept = now
	}
	for pid, p := range u.known {
		if sweep && !p.ended { // its end may have found no room
			p.ended = unix.Kill(pid, 0) == unix.ESRCH
		}
		if p.ended || len(p.shots) > 0 && now-p.shots[0].shot.At > unmetFor {
			for _, s := range p.shots {
				c.claimInto(childSampled, p.payer.account, s)
			}
			u.waiting -= len(p.shots)
			p.shots = p.shots[:0]
		}
		if p.ended {
			delete(u.known, pid)
		}
	}
}

// claimInto hands over a sample that has a claim.
func (c *tracer) claimInto(kind eventKind, to *processAccount, s unmetShot) {
	if s.in != nil {
		s.in.handed = true
	}
	c.claim(event{kind: kind, proc: to, shot: s.shot, ran: s.in})
}

// meetProcess gives a process that was just met the samples that came before. Those of what it ran before it called exec
// are of no thread of it: they have a claim on what is unseen of it.
func (c *tracer) meetProcess(p *process) {
	u := &c.samples.unmet
	if u.known == nil {
		return
	}
	pid := p.target.PID
	u.met[pid] = p
	before := u.known[pid]
	if before == nil {
		return
	}
	delete(u.known, pid)
	u.waiting -= len(before.shots)
	for _, s := range before.shots {
		if s.in == before.runs && p.sampled && len(c.samples.strays) < mostStrays {
			c.samples.strays = append(c.samples.strays, stray{p, s.tid, s.shot})
		} else {
			c.claimInto(sampledEnded, p.account, s)
		}
	}
}

// forgetUnmet drops the samples that still wait when the recording ends: nobody waits for these processes any more.
func (c *tracer) forgetUnmet() {
	u := &c.samples.unmet
	for _, p := range u.known {
		for _, s := range p.shots {
			c.looker.Drop(s.shot)
		}
	}
	clear(u.known)
	u.waiting, u.swept = 0, procmem.Now()
}
