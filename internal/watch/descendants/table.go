// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"cmp"
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/watch/perfevents"
)

const (
	maxUntracked = 1 << 14
	maxMappings  = 1 << 12
	maxFormer    = 16 // earlier programs of a process
)

// Table is the untracked descendants of tracked processes, with their samples. Owner is the caller's value of a tracked
// process; zero: its children are ignored. Not safe for concurrent use.
type Table[Owner comparable, Sample any] struct {
	untracked map[int]*Untracked[Owner, Sample]
	tracked   map[int]Owner
	ended     []*Untracked[Owner, Sample] // their numbers are reused
	records   []record
	names     []byte
}

// Untracked is a process that is not tracked.
type Untracked[Owner comparable, Sample any] struct {
	Ancestor Owner // nearest tracked ancestor at its creation
	Samples  []Sample
	Ended    bool

	runs       *Program[Owner]
	former     []formerProgram[Owner]
	others     int
	firstEnded bool
}

// Program is a process's program. After [Program.Freeze] another goroutine may read it.
type Program[Owner comparable] struct {
	// CodeOwner is the tracked process whose code it runs since the fork; zero: it has called exec.
	CodeOwner Owner
	Name      string
	Maps      []loadedcode.MapsLine // of code

	frozen bool
}

// Freeze makes the program immutable; changes make a copy.
func (p *Program[Owner]) Freeze() { p.frozen = true }

type formerProgram[Owner comparable] struct {
	program *Program[Owner]
	until   int64 // CLOCK_MONOTONIC ns
}

type record struct {
	Kind                       perfevents.Kind
	Exec                       bool
	PID, TID, PPID             int
	Time                       int64
	Addr, Len, Off, Dev, Inode uint64

	from, to int
}

// Records are kept until those of all CPUs are read: only each CPU's are in order.
func (t *Table[Owner, Sample]) add(r *perfevents.Record) {
	from := len(t.names)
	t.names = append(t.names, r.Name...)
	t.records = append(t.records, record{
		Kind: r.Kind, Exec: r.Exec, PID: r.PID, TID: r.TID, PPID: r.PPID, Time: r.Time,
		Addr: r.Addr, Len: r.Len, Off: r.Off, Dev: r.Dev, Inode: r.Inode, from: from, to: len(t.names),
	})
}

// New returns an empty table.
func New[Owner comparable, Sample any]() *Table[Owner, Sample] {
	return &Table[Owner, Sample]{untracked: map[int]*Untracked[Owner, Sample]{}, tracked: map[int]Owner{}}
}

// Drain handles creations and programs of the kernel's records; take gets the others, and may query the table.
func (t *Table[Owner, Sample]) Drain(r *perfevents.Reader, take func(*perfevents.Record)) {
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

func (t *Table[Owner, Sample]) handleAll() {
	slices.SortStableFunc(t.records, func(a, b record) int { return cmp.Compare(a.Time, b.Time) })
	for i := range t.records {
		t.handle(&t.records[i])
	}
	t.records = t.records[:0]
}

func (t *Table[Owner, Sample]) handle(r *record) {
	if r.Kind == perfevents.Forked && r.PID != r.PPID {
		t.created(r)
		return
	}
	p := t.untracked[r.PID]
	if p == nil {
		return
	}
	var none Owner
	name := t.names[r.from:r.to]
	switch {
	case r.Kind == perfevents.Forked:
		p.others++
	case r.Kind == perfevents.Exited:
		p.threadEnded(r.PID == r.TID)
	case r.Kind == perfevents.CommSet && r.Exec:
		if p.former = append(p.former, formerProgram[Owner]{p.runs, r.Time}); len(p.former) > maxFormer {
			p.former = slices.Delete(p.former, 0, 1)
		}
		p.runs = &Program[Owner]{Name: string(name)}
		p.others, p.firstEnded, p.Ended = 0, false, false // exec ends the other threads; its caller becomes the first
	case r.Kind == perfevents.Mapped && p.runs.CodeOwner == none && len(p.runs.Maps) < maxMappings:
		p.runs = p.runs.unshared()
		p.runs.Maps = append(p.runs.Maps, loadedcode.MapsLine{
			Start: r.Addr, End: r.Addr + r.Len, Offset: r.Off, Dev: r.Dev, Inode: r.Inode, Path: string(name),
			Perm: loadedcode.PermRead | loadedcode.PermExec,
		})
	}
}

// threadEnded notes a thread's end. The first may end before others (pthread_exit).
func (p *Untracked[Owner, Sample]) threadEnded(first bool) {
	if first {
		p.firstEnded = true
	} else {
		p.others--
	}
	p.Ended = p.firstEnded && p.others <= 0
}

// An earlier process with the child's number has ended unnoticed.
func (t *Table[Owner, Sample]) created(r *record) {
	if before := t.untracked[r.PID]; before != nil {
		before.Ended = true
		t.ended = append(t.ended, before)
		delete(t.untracked, r.PID)
	}
	if _, tracked := t.tracked[r.PID]; tracked || len(t.untracked) >= maxUntracked {
		return
	}
	var none Owner
	if p, ok := t.tracked[r.PPID]; ok && p != none {
		t.untracked[r.PID] = &Untracked[Owner, Sample]{Ancestor: p, runs: &Program[Owner]{CodeOwner: p}}
	} else if p := t.untracked[r.PPID]; p != nil {
		p.runs.Freeze() // shared with the parent
		t.untracked[r.PID] = &Untracked[Owner, Sample]{Ancestor: p.Ancestor, runs: p.runs}
	}
}

func (p *Program[Owner]) unshared() *Program[Owner] {
	if !p.frozen {
		return p
	}
	return &Program[Owner]{CodeOwner: p.CodeOwner, Name: p.Name, Maps: slices.Clone(p.Maps)}
}

// ProgramAt returns the program at a moment, CLOCK_MONOTONIC ns.
func (p *Untracked[Owner, Sample]) ProgramAt(t int64) *Program[Owner] {
	for i := range p.former {
		if t < p.former[i].until {
			return p.former[i].program
		}
	}
	return p.runs
}

// Find returns an untracked process by number, or nil.
func (t *Table[Owner, Sample]) Find(pid int) *Untracked[Owner, Sample] {
	if _, tracked := t.tracked[pid]; tracked {
		return nil
	}
	return t.untracked[pid]
}

// Track returns and removes the entry of a process that is tracked from now on, or nil.
func (t *Table[Owner, Sample]) Track(pid int, owner Owner) *Untracked[Owner, Sample] {
	before := t.untracked[pid]
	delete(t.untracked, pid)
	t.tracked[pid] = owner
	return before
}

// Forget notes the end of a tracked process, whose number may be reused.
func (t *Table[Owner, Sample]) Forget(pid int, owner Owner) {
	if t.tracked[pid] == owner {
		delete(t.tracked, pid)
	}
}

// FindLostEnds finds processes whose record of the end is lost.
func (t *Table[Owner, Sample]) FindLostEnds() {
	for pid, p := range t.untracked {
		p.Ended = p.Ended || unix.Kill(pid, 0) == unix.ESRCH
	}
}

// All yields the untracked processes, and drops ended ones.
func (t *Table[Owner, Sample]) All() iter.Seq[*Untracked[Owner, Sample]] {
	return func(yield func(*Untracked[Owner, Sample]) bool) {
		for n := len(t.ended); n > 0; n = len(t.ended) {
			p := t.ended[n-1]
			if t.ended = t.ended[:n-1]; !yield(p) {
				return
			}
		}
		for pid, p := range t.untracked {
			if p.Ended {
				delete(t.untracked, pid)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// CurrentProgram returns the current program.
func (p *Untracked[Owner, Sample]) CurrentProgram() *Program[Owner] { return p.runs }
