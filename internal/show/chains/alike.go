// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/walk/waits"
)

// several stands for the numbers of several processes.
const several = -1

// fold merges what has equal keys. What has the greatest weight then is first.
func fold[T any](list []T, key func(*T) string, merge func(to, from *T), weight func(*T) float64) (out []T) {
	at := map[string]int{}
	for i := range list {
		k := key(&list[i])
		if n, known := at[k]; known {
			merge(&out[n], &list[i])
			continue
		}
		at[k], out = len(out), append(out, list[i])
	}
	slices.SortStableFunc(out, func(x, y T) int { return cmp.Compare(weight(&y), weight(&x)) })
	return out
}

func mergePID(pid *int, other int) {
	if *pid != other {
		*pid = several
	}
}

// alike returns a text that is equal for links that differ only in the numbers of processes, threads, tasks and
// descriptors, and in the address of what is waited for.
func (l Link) alike() string {
	l = l.ofAnyThread()
	mergePID(&l.PID, several)
	l.WaitsFor = alikeWait(l.WaitsFor)
	return l.text()
}

func (l *Link) merge(x *Link) {
	if l.TID != x.TID || l.Task != x.Task || l.TaskName != x.TaskName {
		*l = l.ofAnyThread()
	}
	mergePID(&l.PID, x.PID)
	if l.WaitsFor != nil && object(l.WaitsFor) != object(x.WaitsFor) {
		l.WaitsFor = alikeWait(l.WaitsFor)
	}
}

func alikeWait(w *waits.Wait) *waits.Wait {
	if w == nil {
		return nil
	}
	g := *w
	if f := w.OnlyFile(); f != nil {
		file := *f
		file.FD, file.Peers = -1, slices.Clone(f.Peers)
		for i := range file.Peers {
			file.Peers[i].PID = several
		}
		g.FD, g.FDs = &file, nil
	}
	if strings.HasPrefix(w.Symbol, "0x") {
		g.Symbol = ""
	}
	g.Address = 0
	return &g
}

func (e End) alike() string {
	mergePID(&e.PID, several)
	return string(e.Kind) + e.phrase()
}

func (c *Chain) alike() string {
	text := c.End.alike()
	for i := range c.Links {
		text += "\n" + c.Links[i].alike()
	}
	return text
}

func (c *Chain) merge(x *Chain) {
	c.Blocked, c.Threads = c.Blocked+x.Blocked, c.Threads+x.Threads
	c.Links, c.Meanwhile = slices.Clone(c.Links), slices.Concat(c.Meanwhile, x.Meanwhile)
	for i := range c.Links {
		c.Links[i].merge(&x.Links[i])
	}
	mergePID(&c.End.PID, x.End.PID)
	c.Meanwhile = fold(c.Meanwhile, func(l *Link) string { return l.alike() }, (*Link).merge,
		func(*Link) float64 { return 0 })
	c.Meanwhile = c.Meanwhile[:min(len(c.Meanwhile), maxMeanwhile)]
}

// folded returns ends that are alike as one.
func folded(ends []EndShare) []EndShare {
	return fold(ends, func(e *EndShare) string { return e.End.alike() }, func(to, from *EndShare) {
		to.Share, to.Blocked = to.Share+from.Share, to.Blocked+from.Blocked
		mergePID(&to.End.PID, from.End.PID)
	}, func(e *EndShare) float64 { return e.Share })
}
