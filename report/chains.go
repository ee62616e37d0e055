// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// maxChains is the default of [Options].N in the text of chains.
const maxChains = 10

// Chains writes the chains of the selected threads' waits to their ends, through all threads and processes of the
// recording, as text or JSON. Options.N limits the rows of each table. Errors: [Filter]'s, [ErrNoTime], and
// [chains.ErrTooMany].
func Chains(w io.Writer, p *profile.Profile, asJSON bool, o Options) error {
	p, err := Filter(p, Options{From: o.From, To: o.To})
	if err != nil {
		return err
	}
	o.From, o.To = 0, 0
	starts, err := Filter(p, o)
	if err != nil {
		return err
	}
	r, err := chainsOf(p, starts.Sample)
	if err != nil {
		return err
	}
	if asJSON {
		if o.N > 0 {
			r.Chains = r.Chains[:min(len(r.Chains), o.N)]
		}
		return printable.WriteJSON(w, r)
	}
	return r.Text(w, cmp.Or(o.N, maxChains))
}

func chainsOf(p *profile.Profile, starts []*profile.Sample) (*chains.Report, error) {
	clocks, ok := view.ClocksOf(p)
	if !ok {
		return nil, fmt.Errorf("%w; chains need a recording of prywalk", ErrNoTime)
	}
	b := &chainBuilder{waiting: view.NewWaiting(p, true), peers: map[string]string{}, names: map[int]string{},
		known: map[waitID]knownWait{}, tasks: chains.Tasks{}, owned: map[lockID]bool{},
		likely: likelyOwners{}, awaited: map[goLock]bool{}}
	passed := map[*profile.Sample]bool{}
	for _, s := range p.Sample {
		if view.NumLabel(s, rec.LabelEnd) == 0 {
			return nil, fmt.Errorf("%w; chains need a recording without --aggregate", ErrNoTime)
		}
		passed[s] = true
		b.names[int(view.NumLabel(s, rec.LabelPID))] = view.Label(s, rec.LabelComm)
		if view.NumLabel(s, rec.LabelOwner) != 0 {
			b.owned[lockOf(s)] = true
		}
		b.likely.add(s, b.awaited)
		b.awaited[goLock{int(view.NumLabel(s, rec.LabelPID)), view.Label(s, rec.LabelAwaitsLock)}] = true
		if link, others, ok := strings.Cut(view.Label(s, rec.LabelWaitsFor), " = "); ok {
			b.peers[link] = others
		}
	}
	for _, s := range starts {
		passed[s] = false
	}
	var all []chains.Interval
	for _, s := range p.Sample {
		tid := view.NumLabel(s, rec.LabelTID)
		if tid == 0 && !view.IsTask(s) || s.Value[clocks.Wall] <= 0 {
			continue // time of no single thread
		}
		iv := b.interval(s, int(tid), max(0, clocks.Blocked(s)))
		iv.From, iv.Running, iv.Queued = iv.To-s.Value[clocks.Wall], s.Value[clocks.CPU], s.Value[clocks.RunQueue]
		iv.Passed, iv.Apart = passed[s], tid != 0 && b.waiting.IsApart(s)
		if stack := view.Label(s, rec.LabelTaskStack); stack != "" && tid != 0 && !iv.Apart {
			iv.Task = b.tasks.ID(iv.PID, "stack "+stack)
		}
		all = append(all, iv)
		b.likely.add(s, b.awaited, iv)
	}
	handOver(all, p.Period)
	all = append(all, b.likely.lines(b.tasks)...)
	setFinal(all)
	return chains.Build(all, max(1, p.Period))
}

type waitID struct {
	pid               int
	owner             int64
	state, wait, what string
	sleeps            bool
	database          string
}

type knownWait struct {
	wait *waits.Wait
	next chains.Next
}

type chainBuilder struct {
	waiting *view.Waiting
	peers   map[string]string // processes by the link of a descriptor, as the first thread that saw them has them
	names   map[int]string    // of processes
	known   map[waitID]knownWait
	owned   map[lockID]bool // locks with an owner in some wait
	likely  likelyOwners
	awaited map[goLock]bool
	tasks   chains.Tasks
}

func (b *chainBuilder) interval(s *profile.Sample, tid int, blocked int64) chains.Interval {
	pid, wait := int(view.NumLabel(s, rec.LabelPID)), view.Label(s, rec.LabelWait)
	iv := chains.Interval{ID: tid, PID: pid, To: view.NumLabel(s, rec.LabelEnd), Blocked: blocked,
		Idle: b.waiting.IdleRule(s),
		Link: chains.Link{PID: pid, TID: tid, Comm: b.names[pid], Function: b.waiting.Function(s)}}
	if name := view.Label(s, rec.LabelTaskName); tid == 0 && name != "" {
		iv.ID, iv.Link.TaskName = b.tasks.ID(pid, name), name
		w := &waits.Wait{Kind: waits.Other, Symbol: wait}
		switch what := view.Label(s, rec.LabelWaitsFor); {
		case what != "":
			w, _ = b.fileWait(what)
		case wait == languages.AsyncioSleep:
			w = &waits.Wait{Kind: waits.Sleep}
		}
		iv.Link.WaitsFor, iv.Next = w, b.tasks.Next(w, pid, view.Label(s, rec.LabelAwaits))
		return iv
	}
	if tid == 0 {
		iv.ID = chains.Unlabeled(pid)
		iv.Link.WaitsFor, iv.Next.End.Kind = &waits.Wait{Kind: waits.Other, Symbol: wait}, chains.Timer
		lock := goLock{pid, view.Label(s, rec.LabelAwaitsLock)}
		switch _, isHeld := b.likely[lock]; {
		case isHeld:
			iv.Next, iv.Link.Guess = chains.Next{Thread: lock.owner(b.tasks)}, "by the code that locked it"
		case wait != "sleep" && !strings.HasSuffix(wait, ".sleep"):
			iv.Next.End = chains.End{Kind: chains.Unknown,
				Why: fmt.Sprintf("%s has no known owner (%s)", wait, view.Label(s, rec.LabelTask))}
		}
		if what := view.Label(s, rec.LabelWaitsFor); what != "" {
			w, other := b.fileWait(what)
			iv.Link.WaitsFor, iv.Next = w, chains.NextOf(w)
			iv.Next.OtherEnd = other
		}
		return iv
	}
	if blocked == 0 {
		return iv
	}
	id := waitID{pid, view.LockOwner(s), view.Label(s, rec.LabelState), wait, view.Label(s, rec.LabelWaitsFor),
		b.waiting.IsSleep(s), view.LockedDatabase(s)}
	known, ok := b.known[id]
	if !ok {
		known = b.waitOf(&id)
		b.known[id] = known
	}
	iv.Link.WaitsFor, iv.Next = known.wait, known.next
	if kind := known.wait.Kind; kind.HasOwner() || kind.IsSynchronization() && b.owned[lockOf(s)] {
		iv.Next.Lock = id.what
	}
	return iv
}

// whole adds the processes at the other end, which another thread may have seen, to the label of a descriptor.
func (b *chainBuilder) whole(what string) string {
	if link, _, hasPeers := strings.Cut(what, " = "); !hasPeers && b.peers[link] != "" {
		return link + " = " + b.peers[link]
	}
	return what
}

// fileWait is the wait for a descriptor of a label, with the link of its other end.
func (b *chainBuilder) fileWait(what string) (w *waits.Wait, other string) {
	l := waits.ParseLabel(b.whole(what))
	path, _, _ := strings.Cut(what, " ")
	f := &waits.OpenFile{FD: -1, Type: l.File, Path: path, Remote: l.Peer, Peers: l.Peers(), State: l.State}
	return &waits.Wait{Kind: waits.Descriptor, FD: f}, l.Other
}

func (b *chainBuilder) waitOf(id *waitID) knownWait {
	l := waits.ParseLabel(b.whole(id.what))
	w := &waits.Wait{Kind: waits.Other, Symbol: strings.TrimSpace(id.wait + " " + id.what)}
	switch {
	case id.state == "stopped":
		w = &waits.Wait{Kind: waits.Stopped}
	case id.wait == "frozen":
		w = &waits.Wait{Kind: waits.Frozen}
	case id.database != "":
		w = new(waits.DatabaseWait(id.database))
	case id.state == "disk" && id.owner == 0, id.wait == "page fault", id.wait == "userfault":
		w = &waits.Wait{Kind: waits.Disk}
	case id.sleeps || id.what == string(waits.Sleep) || strings.HasSuffix(id.wait, "nanosleep"):
		w = &waits.Wait{Kind: waits.Sleep}
	case l.Kind == waits.Child, id.what == "" && id.owner > 0:
		w = &waits.Wait{Kind: waits.Child, Child: int(id.owner)}
		w.OwnerProcess, w.OwnerName = w.Child, b.names[w.Child]
	case l.Kind != waits.NoWait:
		w = &waits.Wait{Kind: l.Kind, Symbol: l.Object, Type: l.Type}
		switch w.Owner = int(max(0, id.owner)); id.owner {
		case rec.NoOwner:
			w.Free, w.Why = true, "the lock was free when it was read"
		case rec.ParentOwner:
			w.Why = chains.Forked
		}
	case l.File == "file" && waits.LooksUp(id.wait):
		w.Symbol, w.Path = "", id.what
	case l.File != "":
		w, _ = b.fileWait(id.what)
	}
	next := chains.NextOf(w)
	if w.FD != nil {
		next.Descriptor, next.OtherEnd = w.FD.Path, l.Other
	}
	if id.wait == "" && next.End.Kind == chains.Unknown {
		next.End.Why = "no look saw what it waited for"
	}
	return knownWait{w, next}
}

// minFinal is the least time that a wait at the end of a recording must have stood to be final.
const minFinal = int64(100 * time.Millisecond)

// setFinal marks the waits at the end of the recording in which their threads did not run.
func setFinal(all []chains.Interval) {
	slices.SortStableFunc(all, func(x, y chains.Interval) int { return cmp.Compare(x.To, y.To) })
	waiting := map[int][]*chains.Interval{} // the last intervals of one wait, by thread
	for i := range all {
		iv := &all[i]
		list := waiting[iv.ID]
		if len(list) > 0 && (iv.Link.WaitsFor != list[0].Link.WaitsFor || iv.Link.Function != list[0].Link.Function) {
			list = nil
		}
		if list = append(list, iv); iv.Running+iv.Queued > 0 {
			list = nil
		}
		waiting[iv.ID] = list
	}
	for _, list := range waiting {
		end := all[len(all)-1].To
		if len(list) > 0 && end-list[0].From >= minFinal && end-list[len(list)-1].To < minFinal {
			for _, iv := range list {
				iv.Next.Final = true
			}
		}
	}
}
