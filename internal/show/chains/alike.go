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

// fold merges what has equal texts. What has the greatest weight then is first.
func fold[T any, P interface {
	*T
	alike() string
	merge(*T)
	weight() int64
}](list []T) (out []T) {
	at := map[string]int{}
	for i := range list {
		text := P(&list[i]).alike()
		if n, known := at[text]; known {
			P(&out[n]).merge(&list[i])
			continue
		}
		at[text], out = len(out), append(out, list[i])
	}
	slices.SortStableFunc(out, func(x, y T) int { return cmp.Compare(P(&y).weight(), P(&x).weight()) })
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
	c.starts = append(slices.Clip(c.starts), x.starts...)
	c.Links = slices.Clone(c.Links)
	for i := range c.Links {
		c.Links[i].merge(&x.Links[i])
	}
	mergePID(&c.End.PID, x.End.PID)
}

// countOnce subtracts the threads that merged chains have in common.
func (c *Chain) countOnce() {
	slices.SortFunc(c.starts, func(x, y counted) int { return cmp.Compare(x.id, y.id) })
	for i := 1; i < len(c.starts); i++ {
		if a, b := c.starts[i-1], c.starts[i]; a.id == b.id {
			c.Threads -= min(a.count, b.count)
		}
	}
}

func (e *EndShare) alike() string { return e.End.alike() }

func (e *EndShare) weight() int64 { return int64(1e9 * e.Share) }

func (e *EndShare) merge(x *EndShare) {
	e.Share, e.Blocked = e.Share+x.Share, e.Blocked+x.Blocked
	mergePID(&e.End.PID, x.End.PID)
}
