// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/chains"
	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/view"
	"prywalk/internal/waits"
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
	b := &chainBuilder{waiting: view.NewWaiting(p), starts: map[*profile.Sample]bool{}, peers: map[string]string{},
		others: map[string]string{},
		names:  map[int]string{}, known: map[waitID]*waits.Wait{}, owned: map[lockID]bool{}}
	for _, s := range starts {
		b.starts[s] = true
	}
	for _, s := range p.Sample {
		if view.NumLabel(s, rec.LabelEnd) == 0 {
			return nil, fmt.Errorf("%w; chains need a recording without --aggregate", ErrNoTime)
		}
		b.names[int(view.NumLabel(s, rec.LabelPID))] = view.Label(s, rec.LabelComm)
		if view.NumLabel(s, rec.LabelOwner) != 0 {
			b.owned[lockOf(s)] = true
		}
		if link, others, ok := strings.Cut(view.Label(s, rec.LabelWaitsFor), " = "); ok {
			b.peers[link] = others
		}
	}
	for _, s := range p.Sample {
		b.add(s, &clocks)
	}
	b.setFinal()
	return chains.Build(b.all, max(1, p.Period))
}

type waitID struct {
	pid               int
	owner             int64
	state, wait, what string
	sleeps            bool
}

type chainBuilder struct {
	waiting *view.Waiting
	starts  map[*profile.Sample]bool
	others  map[string]string // other ends by the link of a descriptor
	peers   map[string]string // processes by the link of a descriptor, as the first thread that saw them has them
	names   map[int]string    // of processes
	known   map[waitID]*waits.Wait
	owned   map[lockID]bool // locks with an owner in some wait
	all     []chains.Interval
}

func (b *chainBuilder) add(s *profile.Sample, clocks *view.ClockIndices) {
	pid, tid := int(view.NumLabel(s, rec.LabelPID)), int(view.NumLabel(s, rec.LabelTID))
	end := view.NumLabel(s, rec.LabelEnd)
	if tid == 0 && !view.IsTask(s) || s.Value[clocks.Wall] <= 0 {
		return // time of no single thread
	}
	iv := chains.Interval{ID: tid, PID: pid, From: end - s.Value[clocks.Wall], To: end, Running: s.Value[clocks.CPU],
		Queued: s.Value[clocks.RunQueue], Blocked: max(0, clocks.Blocked(s)), Idle: b.waiting.IdleRule(s),
		Passed: !b.starts[s],
		Link:   chains.Link{PID: pid, TID: tid, Comm: b.names[pid], Function: b.waiting.Function(s)}}
	if tid == 0 {
		iv.ID = -pid
		iv.Link.WaitsFor = &waits.Wait{Kind: waits.Other, Symbol: view.Label(s, rec.LabelWait)}
		iv.Next.End = chains.End{Kind: chains.Unknown,
			Why: fmt.Sprintf("the %s of a %s has no known owner", view.Label(s, rec.LabelWait), view.Label(s, rec.LabelTask))}
		if view.Label(s, rec.LabelWait) == "sleep" {
			iv.Next.End = chains.End{Kind: chains.Timer}
		}
	} else if iv.Blocked > 0 {
		iv.Link.WaitsFor = b.wait(s, pid)
		iv.Next = chains.NextOf(iv.Link.WaitsFor)
		if f := iv.Link.WaitsFor.FD; f != nil {
			iv.Next.Descriptor, iv.Next.OtherEnd = f.Path, b.others[f.Path]
		}
		if view.Label(s, rec.LabelWait) == "" && iv.Next.End.Kind == chains.Unknown {
			iv.Next.End.Why = "no look saw what it waited for"
		}
		if kind := iv.Link.WaitsFor.Kind; kind.HasOwner() || kind.IsSynchronization() && b.owned[lockOf(s)] {
			iv.Next.Lock = view.Label(s, rec.LabelWaitsFor)
		}
	}
	b.all = append(b.all, iv)
}

// wait returns what a sample waits for, by its labels.
func (b *chainBuilder) wait(s *profile.Sample, pid int) *waits.Wait {
	id := waitID{pid, view.LockOwner(s), view.Label(s, rec.LabelState), view.Label(s, rec.LabelWait),
		view.Label(s, rec.LabelWaitsFor), b.waiting.IsSleep(s)}
	w := b.known[id]
	if w == nil {
		w = b.waitOf(&id)
		b.known[id] = w
	}
	return w
}

func (b *chainBuilder) waitOf(id *waitID) *waits.Wait {
	link, _, hasPeers := strings.Cut(id.what, " = ")
	what := id.what
	if others := b.peers[link]; !hasPeers && others != "" {
		what = link + " = " + others
	}
	l := waits.ParseLabel(what)
	w := &waits.Wait{Kind: waits.Other, Symbol: strings.TrimSpace(id.wait + " " + id.what)}
	switch {
	case id.state == "stopped":
		w = &waits.Wait{Kind: waits.Stopped}
	case id.wait == "frozen":
		w = &waits.Wait{Kind: waits.Frozen}
	case id.state == "disk" && id.owner == 0, id.wait == "page fault", id.wait == "userfault":
		w = &waits.Wait{Kind: waits.Disk}
	case id.sleeps || id.what == string(waits.Sleep) || strings.HasSuffix(id.wait, "nanosleep"):
		w = &waits.Wait{Kind: waits.Sleep}
	case l.Kind != waits.NoWait:
		w = &waits.Wait{Kind: l.Kind, Symbol: l.Object, Type: l.Type}
		if w.Owner = int(max(0, id.owner)); id.owner == rec.NoOwner {
			w.Free, w.Why = true, "the lock was free when it was read"
		}
	case l.File != "":
		path, _, _ := strings.Cut(link, " ")
		b.others[path] = l.Other
		w = &waits.Wait{Kind: waits.Descriptor,
			FD: &waits.OpenFile{Type: l.File, Path: path, Remote: l.Peer, Peers: l.Peers()}}
	case id.what == "" && id.owner > 0:
		w = &waits.Wait{Kind: waits.Child, Child: int(id.owner)}
		w.OwnerProcess, w.OwnerName = w.Child, b.names[w.Child]
	}
	return w
}

// minFinal is the least time, in ns, that a wait at the end of a recording must have stood to be final.
const minFinal = 100e6

// setFinal marks the waits at the end of the recording in which their threads did not run.
func (b *chainBuilder) setFinal() {
	order := make([]int, len(b.all))
	end := int64(0)
	for i := range order {
		order[i] = i
		end = max(end, b.all[i].To)
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.all[x].ID, b.all[y].ID), cmp.Compare(b.all[y].To, b.all[x].To))
	})
	for n := 0; n < len(order); {
		last := &b.all[order[n]]
		first := n
		for n < len(order) && b.all[order[n]].ID == last.ID {
			iv := &b.all[order[n]]
			if iv.Link.WaitsFor != last.Link.WaitsFor || iv.Link.Function != last.Link.Function || iv.Running+iv.Queued > 0 {
				break
			}
			n++
		}
		if n > first && end-b.all[order[n-1]].From >= minFinal && end-last.To < minFinal {
			for _, i := range order[first:n] {
				b.all[i].Next.Final = true
			}
		}
		for n < len(order) && b.all[order[n]].ID == last.ID {
			n++
		}
	}
}
