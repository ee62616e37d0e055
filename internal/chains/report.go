// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"cmp"
	"fmt"
	"slices"
)

func (b *builder) report() *Report {
	r := &Report{Chains: []Chain{}, Ends: []EndShare{}, Links: []LinkShare{}}
	for _, k := range b.order {
		l := b.ends[k]
		last := &b.links[b.parents[k.node].link]
		c := Chain{Threads: l.threads, value: l.value,
			End: End{Kind: k.kind, PID: last.PID, Comm: last.Comm, Function: last.Function, Why: k.why}}
		for at := k.node; at != 0; at = b.parents[at].parent {
			c.Links = append(c.Links, b.links[b.parents[at].link])
		}
		slices.Reverse(c.Links)
		r.Chains = append(r.Chains, c)
	}
	seen := map[int]bool{}
	for i := range b.all {
		if iv := &b.all[i]; iv.starts() {
			r.value += iv.Blocked
			seen[iv.ID] = true
		}
	}
	r.Threads = len(seen)
	slices.SortStableFunc(r.Chains, func(x, y Chain) int { return cmp.Compare(y.value, x.value) })
	r.addShares()
	r.Conclusion = r.conclude(b.period > 0)
	if b.period > 0 {
		r.Blocked = r.value
		for i := range r.Chains {
			r.Chains[i].Blocked = r.Chains[i].value
		}
		return r
	}
	for i := range r.Ends {
		r.Ends[i].Blocked = 0
	}
	for i := range r.Links {
		r.Links[i].Blocked = 0
	}
	return r
}

// addShares adds up chains by end and by link. A chain counts once for each link, its first one aside.
func (r *Report) addShares() {
	ends, links := map[End]int{}, map[linkKey]int{}
	for i := range r.Chains {
		c := &r.Chains[i]
		n, ok := ends[c.End]
		if !ok {
			n = len(r.Ends)
			ends[c.End], r.Ends = n, append(r.Ends, EndShare{End: c.End})
		}
		r.Ends[n].Blocked += c.value
		counted := map[int]bool{}
		for j := range c.Links[1:] {
			l := c.Links[1+j]
			k := l.key()
			n, ok := links[k]
			if !ok {
				n = len(r.Links)
				links[k], r.Links = n, append(r.Links, LinkShare{Link: l})
			}
			if !counted[n] {
				counted[n] = true
				r.Links[n].Blocked += c.value
			}
		}
	}
	slices.SortStableFunc(r.Ends, func(x, y EndShare) int { return cmp.Compare(y.Blocked, x.Blocked) })
	slices.SortStableFunc(r.Links, func(x, y LinkShare) int { return cmp.Compare(y.Blocked, x.Blocked) })
	for i := range r.Ends {
		r.Ends[i].Share = float64(r.Ends[i].Blocked) / float64(r.value)
	}
	for i := range r.Links {
		r.Links[i].Share = float64(r.Links[i].Blocked) / float64(r.value)
	}
}

// conclude is about the process with most blocked time: where most of that ends.
func (r *Report) conclude(timed bool) string {
	byPID := map[int]int64{}
	of := Link{}
	for i := range r.Chains {
		first := r.Chains[i].Links[0]
		if byPID[first.PID] += r.Chains[i].value; byPID[first.PID] > byPID[of.PID] || of.PID == 0 {
			of = first
		}
	}
	ends, order := map[End]int64{}, []End{}
	for i := range r.Chains {
		if c := &r.Chains[i]; c.Links[0].PID == of.PID {
			if ends[c.End] == 0 {
				order = append(order, c.End)
			}
			ends[c.End] += c.value
		}
	}
	if len(order) == 0 {
		return "no thread was blocked, apart from idle ones"
	}
	slices.SortStableFunc(order, func(x, y End) int { return cmp.Compare(ends[y], ends[x]) })
	whose := func(e End) string {
		name := processName(of.Comm, of.PID)
		if !timed {
			return fmt.Sprintf("%d of %d blocked threads of %s", ends[e], byPID[of.PID], name)
		}
		return fmt.Sprintf("%s of the blocked time of %s", percent(float64(ends[e])/float64(byPID[of.PID])), name)
	}
	verb := func(e End) string {
		if !timed && ends[e] > 1 {
			return " end "
		}
		return " ends "
	}
	top := order[0]
	if top.Kind != Unknown {
		return whose(top) + verb(top) + top.phrase()
	}
	text := "where " + whose(top) + verb(top) + "is not known: " + top.Why
	i := slices.IndexFunc(order, func(e End) bool { return e.Kind != Unknown })
	if i > 0 && float64(ends[order[i]]) >= minShare*float64(byPID[of.PID]) {
		text += "; " + whose(order[i]) + verb(order[i]) + order[i].phrase()
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
