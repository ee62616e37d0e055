// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"cmp"
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

const (
	maxUntracked = 1 << 14
	maxMappings  = 1 << 12
	maxFormer    = 16 // earlier programs of a process
)

// descendants are the untracked descendants of tracked processes, by the kernel's records, with their samples.
type descendants struct {
	untracked map[int]*descendant
	tracked   map[int]*target.Process
	ended     []*descendant // their numbers are reused
	records   []perfevents.Record
	names     []byte
}

// descendant is a process that is not tracked.
type descendant struct {
	ancestor *target.Process // nearest tracked ancestor at its creation
	samples  []childSample
	ended    bool

	runs       *target.Program
	former     []formerProgram
	others     int
	firstEnded bool
}

type formerProgram struct {
	program *target.Program
	until   ptrace.Moment
}

// Records are kept until those of all CPUs are read: only each CPU's are in order.
func (t *descendants) add(r *perfevents.Record) {
	from := len(t.names)
	t.names = append(t.names, r.Name...)
	kept := *r
	kept.Name = t.names[from:]
	t.records = append(t.records, kept)
}

func newDescendants() *descendants {
	return &descendants{untracked: map[int]*descendant{}, tracked: map[int]*target.Process{}}
}

// drain handles creations and programs of the kernel's records; take gets the others, and may query the table.
func (t *descendants) drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	t.records, t.names = t.records[:0], t.names[:0]
	handled := false
	r.DrainTasksFirst(t.add, func(rec *perfevents.Record) {
		if !handled {
			handled = true
			t.handleAll()
		}
		take(rec)
	})
	t.handleAll()
}

func (t *descendants) handleAll() {
	slices.SortStableFunc(t.records, func(a, b perfevents.Record) int { return cmp.Compare(a.Time, b.Time) })
	for i := range t.records {
		t.handle(&t.records[i])
	}
	t.records = t.records[:0]
}

func (t *descendants) handle(r *perfevents.Record) {
	if r.Kind == perfevents.Forked && r.PID != r.PPID {
		t.created(r)
		return
	}
	p := t.untracked[r.PID]
	if p == nil {
		return
	}
	switch {
	case r.Kind == perfevents.Forked:
		p.others++
	case r.Kind == perfevents.Exited:
		p.threadEnded(r.PID == r.TID)
	case r.Kind == perfevents.CommSet && r.Exec:
		if p.former = append(p.former, formerProgram{p.runs, r.Time}); len(p.former) > maxFormer {
			p.former = slices.Delete(p.former, 0, 1)
		}
		p.runs = &target.Program{Name: string(r.Name)}
		p.others, p.firstEnded, p.ended = 0, false, false // exec ends the other threads; its caller becomes the first
	case r.Kind == perfevents.Mapped && p.runs.CodeOwner == nil && len(p.runs.Maps) < maxMappings:
		p.runs = p.runs.Unshared()
		p.runs.Maps = append(p.runs.Maps, loadedcode.MapsLine{
			Start: r.Addr, End: r.Addr + r.Len, Offset: r.Off, Dev: r.Dev, Inode: r.Inode, Path: string(r.Name),
			Perm: loadedcode.PermRead | loadedcode.PermExec,
		})
	}
}

// threadEnded notes a thread's end. The first may end before others (pthread_exit).
func (p *descendant) threadEnded(first bool) {
	if first {
		p.firstEnded = true
	} else {
		p.others--
	}
	p.ended = p.firstEnded && p.others <= 0
}

// An earlier process with the child's number has ended unnoticed.
func (t *descendants) created(r *perfevents.Record) {
	if before := t.untracked[r.PID]; before != nil {
		before.ended = true
		t.ended = append(t.ended, before)
		delete(t.untracked, r.PID)
	}
	if _, tracked := t.tracked[r.PID]; tracked || len(t.untracked) >= maxUntracked {
		return
	}
	if p, ok := t.tracked[r.PPID]; ok && p != nil {
		t.untracked[r.PID] = &descendant{ancestor: p, runs: &target.Program{CodeOwner: p}}
	} else if p := t.untracked[r.PPID]; p != nil {
		p.runs.Freeze() // shared with the parent
		t.untracked[r.PID] = &descendant{ancestor: p.ancestor, runs: p.runs}
	}
}

// programAt returns the program at a moment.
func (p *descendant) programAt(t ptrace.Moment) *target.Program {
	for i := range p.former {
		if t < p.former[i].until {
			return p.former[i].program
		}
	}
	return p.runs
}

// find returns an untracked process by number, or nil.
func (t *descendants) find(pid int) *descendant {
	if _, tracked := t.tracked[pid]; tracked {
		return nil
	}
	return t.untracked[pid]
}

// track returns and removes the entry of a process that is tracked from now on, or nil.
func (t *descendants) track(pid int, p *target.Process) *descendant {
	before := t.untracked[pid]
	delete(t.untracked, pid)
	t.tracked[pid] = p
	return before
}

// forget notes the end of a tracked process, whose number may be reused.
func (t *descendants) forget(pid int, p *target.Process) {
	if t.tracked[pid] == p {
		delete(t.tracked, pid)
	}
}

// findLostEnds finds processes whose record of the end is lost.
func (t *descendants) findLostEnds() {
	for pid, p := range t.untracked {
		p.ended = p.ended || unix.Kill(pid, 0) == unix.ESRCH
	}
}

// all yields the untracked processes, and drops ended ones.
func (t *descendants) all() iter.Seq[*descendant] {
	return func(yield func(*descendant) bool) {
		for n := len(t.ended); n > 0; n = len(t.ended) {
			p := t.ended[n-1]
			if t.ended = t.ended[:n-1]; !yield(p) {
				return
			}
		}
		for pid, p := range t.untracked {
			if p.ended {
				delete(t.untracked, pid)
			}
			if !yield(p) {
				return
			}
		}
	}
}
