package dump

import (
	"cmp"
	"slices"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/symbols"
	"prywalk/internal/target"
	"prywalk/ptrace"
)

// Options say how to look.
type Options struct {
	// MaxDepth limits the frames of a stack; negative: no limit.
	MaxDepth int
	// ReadOnly: never write a register.
	ReadOnly bool
}

// collectFor bounds how long running threads are waited for, in nanoseconds.
const collectFor = 2e9

// shots is what the looks at a process gave.
type shots struct {
	threads []*look.Thread
	taken   map[*look.Thread]*look.Shot
	failed  map[string]int64
}

// Look looks at all threads of a process once. Threads that end meanwhile are left
// out. The error is that of listing the threads.
func Look(t *target.Process, o Options) (*Process, error) {
	got, err := takeAll(t, o)
	if err != nil {
		return nil, err
	}
	_, _ = t.Refresh() // what was loaded since it was opened
	p := &Process{PID: t.PID, Name: t.Comm, Threads: []Thread{}, Failed: got.failed}
	names := symbols.NewNamer()
	defer names.Close()
	t.JITFuncs = names.JITFuncs(t.PID)
	w := &frames.Walker{MaxDepth: o.MaxDepth}
	for th, s := range got.taken {
		p.Threads = append(p.Threads, describe(t, names, w, th.TID, s))
	}
	slices.SortFunc(p.Threads, func(a, b Thread) int { return cmp.Compare(a.TID, b.TID) })
	return p, nil
}

// takeAll looks at the threads on an OS thread of its own.
func takeAll(t *target.Process, o Options) (*shots, error) {
	tids, err := t.Threads(nil)
	if err != nil {
		return nil, err
	}
	got := &shots{taken: map[*look.Thread]*look.Shot{}, failed: map[string]int64{}}
	extra := look.GoStacks(t)
	for _, tid := range tids {
		th := look.NewThread(t.PID, tid, nil)
		th.CopyAll()
		th.Extra = extra
		got.threads = append(got.threads, th)
	}
	look.OnThread(func() {
		c := ptrace.NewController(ptrace.Options{ReadOnly: o.ReadOnly})
		defer c.Close()
		got.take(look.New(c, look.NewPool(0), look.Ladder))
	})
	return got, nil
}

// take looks at each thread. At most as many as the controller has room for are
// pending at a time.
func (g *shots) take(l *look.Looker) {
	for _, th := range g.threads {
		outcome, s, err := l.Begin(th)
		switch {
		case err != nil:
			g.done(th, nil, err)
		case outcome == look.Done:
			g.done(th, s, nil)
		case outcome == look.Pending:
			l.Collect(procmem.Now(), g.done)
		}
	}
	l.Collect(procmem.Now()+collectFor, g.done)
	l.Abort(g.done)
}

// done takes a look's result.
func (g *shots) done(th *look.Thread, s *look.Shot, err error) {
	if err == nil {
		g.taken[th] = s
		return
	}
	if r := look.Reason(err); r != look.ReasonExited {
		g.failed[r.String()]++
	}
}
