// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/walk/waits"
)

type tally struct {
	Program string
	Looks   int
	// Waits are waiters at locks by kind, without those that are idle by a rule.
	Waits map[waits.Kind]int
	// Waits at locks that can have an owner: all, with the owner by their own sample, and with the lock free.
	Ownable, Named, Free int
	// Owned are those at locks whose owner was observed while it had the lock.
	Owned int
	// Cycles were seen once, Deadlocks also in the two observations after.
	Cycles, Deadlocks int
	Seconds           float64
}

func (t *tally) all() (n int) {
	for _, k := range t.Waits {
		n += k
	}
	return n
}

func (t *tally) add(l *locks.Locks) {
	t.Looks++
	for i := range l.Locks {
		lock := &l.Locks[i]
		if lock.Idle != "" {
			continue
		}
		t.Waits[lock.Kind] += len(lock.Waiters)
		if lock.Kind.HasOwner() {
			t.Ownable += len(lock.Waiters)
		}
		if lock.Owner != 0 {
			t.Owned += len(lock.Waiters)
		}
	}
	for _, p := range l.Processes {
		for i := range p.Threads {
			w := p.Threads[i].WaitsFor
			switch {
			case w == nil || w.Idle != "" || !w.Kind.HasOwner():
			case w.Owner != 0:
				t.Named++
			case w.Free:
				t.Free++
			}
		}
	}
	t.Cycles += len(l.Cycles())
	t.Deadlocks += len(l.Deadlocks)
}

func watch(ctx context.Context, name string, pids func() []int, enough func(*tally) bool) (*tally, error) {
	t := &tally{Program: name, Waits: map[waits.Kind]int{}}
	images, names := loadedcode.NewImageCache(0), symbols.NewNamer()
	defer images.Close()
	defer names.Close()
	began := time.Now()
	for !enough(t) && ctx.Err() == nil {
		l, err := locksOf(images, names, pids())
		if err != nil {
			return t, fmt.Errorf("look %d at %s: %w", t.Looks, name, err)
		}
		t.add(l)
		t.Seconds = time.Since(began).Seconds()
	}
	return t, ctx.Err()
}

var errGone = errors.New("it has ended")

func locksOf(images *loadedcode.ImageCache, names *symbols.Namer, pids []int) (*locks.Locks, error) {
	var targets []*loadedcode.Process
	for _, pid := range pids {
		p, err := images.Open(pid)
		if err != nil {
			continue
		}
		defer p.Close()
		targets = append(targets, p)
	}
	if len(targets) == 0 {
		return nil, errGone
	}
	l, err := dump.ExamineLocks(targets, dump.Options{MaxDepth: -1, Names: names})
	if len(l.Processes) > 0 && !errors.Is(err, dump.ErrHung) {
		err = nil
	}
	return l, err
}

func write(w io.Writer, all []*tally) {
	fmt.Fprint(w,
		"| program | dumped for | dumps | waits | at locks that store an owner | owner named | lock was free | "+
			"owner sampled with it | cycles in one dump | deadlocks |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | "+
			"--- |\n")
	for _, t := range all {
		fmt.Fprintf(w, "| %s | %.0f s | %d | %d (%s) | %d | %d | %d | %d | %d | %d |\n",
			t.Program, t.Seconds, t.Looks, t.all(), t.kinds(), t.Ownable, t.Named, t.Free, t.Owned, t.Cycles, t.Deadlocks)
	}
}
