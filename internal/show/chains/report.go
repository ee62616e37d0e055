// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/walk/waits"
)

// report takes the number of threads and tasks that were blocked. tasks means that some are tasks.
func (b *builder) report(all []Interval, threads int, tasks bool) *Report {
	r := &Report{Threads: threads, tasks: tasks, Chains: []Chain{}, Ends: []EndShare{}, Links: []LinkShare{}}
	var doing map[int][]activity
	for _, c := range b.order {
		c.Threads += b.mean(c.unlabeled)
		if !c.End.isKnown() {
			if doing == nil {
				doing = activities(all)
			}
			c.Meanwhile = meanwhile(c.way.link, doing)
		}
		last := c.way.link
		c.End.PID, c.End.Comm, c.End.Function = last.PID, last.Comm, last.Function
		for at := c.way; at != nil; at = at.parent {
			c.Links = append(c.Links, *at.link)
		}
		slices.Reverse(c.Links)
		if b.period == 0 {
			c.Blocked = 0
		}
		r.Blocked += c.Blocked
		r.Chains = append(r.Chains, *c)
	}
	slices.SortStableFunc(r.Chains, func(x, y Chain) int { return cmp.Compare(y.weight(), x.weight()) })
	ends, sums := sumBy(r.Chains, func(c *Chain) []End { return []End{c.End} })
	for _, e := range ends {
		r.Ends = append(r.Ends, EndShare{End: e, Share: r.share(sums[e]), Blocked: min(sums[e], r.Blocked)})
	}
	r.Links = r.through(r.Chains)
	r.Conclusion = r.conclude()
	return r
}

// activity is what threads and tasks of a process do, with the sum of the times.
type activity struct {
	link Link
	id   int // the thread or task; 0 if there are several
	time int64
}

// notSeen are the places of time without a sample.
var notSeen = []string{
	attribute.NotObserved, attribute.RanBetweenTicks, attribute.BlockedBetweenTicks, attribute.ExitedUnseen,
}

func (l Link) ofAnyThread() Link {
	l.TID, l.Task, l.TaskName = 0, 0, ""
	return l
}

// activities returns, by process, what is work or leads to a known end, the longest first: one more than are shown.
func activities(all []Interval) map[int][]activity {
	at, byLink, list := map[string]int{}, map[Link]int{}, []activity{}
	add := func(id int, l Link, time int64) {
		l = l.ofAnyThread()
		n, known := byLink[l]
		if !known {
			text := l.text()
			if n, known = at[text]; !known {
				n = len(list)
				at[text], list = n, append(list, activity{link: l, id: id})
			}
			byLink[l] = n
		}
		list[n].time += time
		if list[n].id != id {
			list[n].id = 0
		}
	}
	for i := range all {
		iv := &all[i]
		if slices.Contains(notSeen, iv.Link.Function) {
			continue
		}
		if ran := iv.Running + iv.Queued; ran > 0 {
			awake := iv.Link
			awake.WaitsFor, awake.Guess = nil, ""
			add(iv.ID, awake, ran)
		}
		leads := iv.Next.Thread != 0 || len(iv.Next.Processes) > 0 || iv.Next.End.Kind != Unknown
		if iv.Blocked > 0 && iv.Idle == "" && leads {
			add(iv.ID, iv.Link, iv.Blocked)
		}
	}
	slices.SortStableFunc(list, func(x, y activity) int { return cmp.Compare(y.time, x.time) })
	out := map[int][]activity{}
	for _, a := range list {
		if of := out[a.link.PID]; len(of) <= maxMeanwhile {
			out[a.link.PID] = append(of, a)
		}
	}
	return out
}

// maxMeanwhile bounds [Chain.Meanwhile].
const maxMeanwhile = 5

// meanwhile returns what else the process at the end of a chain did: the process at the other end of the last link's
// connection, or, without a connection, the process of the last link.
func meanwhile(last *Link, doing map[int][]activity) (list []Link) {
	pids := []int{last.PID}
	if w := last.WaitsFor; w != nil && w.OnlyFile() != nil && len(w.OnlyFile().Peers) > 0 {
		pids = nil
		for _, p := range w.OnlyFile().Peers {
			pids = append(pids, p.PID)
		}
		slices.Sort(pids)
	}
	var all []activity
	for _, pid := range slices.Compact(pids) {
		all = append(all, doing[pid]...)
	}
	slices.SortStableFunc(all, func(x, y activity) int { return cmp.Compare(y.time, x.time) })
	own := last.ofAnyThread()
	text := own.text()
	for i := range all {
		a := &all[i]
		itself := a.id != 0 && a.id == last.TID // before or after its wait
		if len(list) < maxMeanwhile && !itself && a.link.text() != text {
			list = append(list, a.link)
		}
	}
	return list
}

// count says how many threads and tasks there are, after a word for them.
func (r *Report) count(word string, n int) string {
	switch text := tabular.Plural(int64(n), word+"thread"); {
	case !r.tasks:
		return text
	case n == 1:
		return text + " or task"
	default:
		return text + " and tasks"
	}
}

// weight is the blocked time; in a dump, the number of threads.
func (c *Chain) weight() int64 { return cmp.Or(c.Blocked, int64(c.Threads)) }

func (r *Report) share(weight int64) float64 {
	return float64(weight) / float64(cmp.Or(r.Blocked, int64(r.Threads)))
}

// sumBy adds up the chains' weights by keys. The keys with the largest sums are the first.
func sumBy[K comparable](list []Chain, keys func(*Chain) []K) (order []K, sums map[K]int64) {
	sums = map[K]int64{}
	for i := range list {
		for _, k := range keys(&list[i]) {
			if sums[k] == 0 {
				order = append(order, k)
			}
			sums[k] += list[i].weight()
		}
	}
	slices.SortStableFunc(order, func(x, y K) int { return cmp.Compare(sums[y], sums[x]) })
	return order, sums
}

// through returns the links after the first ones of chains.
func (r *Report) through(list []Chain) (out []LinkShare) {
	out = []LinkShare{}
	links := map[string]*Link{}
	texts, sums := sumBy(list, func(c *Chain) (texts []string) {
		for i := range c.Links[1:] {
			l := &c.Links[1+i]
			if text := l.text(); !slices.Contains(texts, text) {
				texts, links[text] = append(texts, text), l
			}
		}
		return texts
	})
	for _, text := range texts {
		n := sums[text]
		out = append(out, LinkShare{Link: *links[text], Share: r.share(n), Blocked: min(n, r.Blocked)})
	}
	return out
}

// conclude is about the processes of one name with most blocked time: where most of that ends.
func (r *Report) conclude() string {
	program := func(c *Chain) string { return processName(c.Links[0].Comm, several) }
	programs, blocked := sumBy(r.Chains, func(c *Chain) []string { return []string{program(c)} })
	if len(programs) == 0 {
		return "no thread was blocked, apart from idle ones"
	}
	var first Link
	var order []EndShare
	for i := range r.Chains {
		if c := &r.Chains[i]; program(c) == programs[0] {
			first = cmp.Or(first, c.Links[0])
			mergePID(&first.PID, c.Links[0].PID)
			order = append(order, EndShare{c.End, r.share(c.weight()), c.weight()})
		}
	}
	order = fold(order)
	name, all := processName(first.Comm, first.PID), blocked[programs[0]]
	ends := func(e *EndShare) string { // "40 % of the blocked time of web (pid 7) ends"
		switch n := e.Blocked; {
		case r.Blocked > 0:
			return percent(float64(n)/float64(all)) + " of the blocked time of " + name + " ends "
		case n > 1:
			return fmt.Sprintf("%d of %s of %s end ", n, r.count("blocked ", int(all)), name)
		}
		return fmt.Sprintf("1 of %s of %s ends ", r.count("blocked ", int(all)), name)
	}
	top := &order[0]
	text := ends(top) + top.End.phrase()
	e := &top.End
	if e.Kind == Outside && e.Why == "" && (e.PID != first.PID || e.PID == several && e.Comm != first.Comm) {
		command := "dump --chains"
		if r.Blocked > 0 {
			command = "record"
		}
		switch {
		case first.PID != several && e.PID == several && r.areChildren(e, first.PID):
			return text + fmt.Sprintf("; prywalk %s --children -p %d includes those", command, first.PID)
		case first.PID == several || e.PID == several:
			return text + fmt.Sprintf("; prywalk %s --match '^(%s|%s)$' includes both", command,
				regexp.QuoteMeta(first.Comm), regexp.QuoteMeta(e.Comm))
		}
		return text + fmt.Sprintf("; prywalk %s -p %d,%d includes that process", command, first.PID, e.PID)
	}
	if top.End.isKnown() {
		return text
	}
	text = "where " + ends(top) + "is not known: " + top.End.Why
	i := slices.IndexFunc(order, func(e EndShare) bool { return e.End.isKnown() })
	if i > 0 && float64(order[i].Blocked) >= minShare*float64(all) {
		text += "; " + ends(&order[i]) + order[i].End.phrase()
	}
	return text
}

// areChildren reports whether all chains from a process to an end consist of a wait for a child of it.
func (r *Report) areChildren(e *End, pid int) bool {
	return !slices.ContainsFunc(r.Chains, func(c Chain) bool {
		w := c.Links[0].WaitsFor
		isChild := len(c.Links) == 2 && w != nil && w.Kind == waits.Child
		return !isChild && c.Links[0].PID == pid && c.End.alike() == e.alike()
	})
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func processName(comm string, pid int) string {
	switch {
	case pid == several:
		return cmp.Or(comm, "unnamed") + " (several processes)"
	case comm == "":
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (pid %d)", comm, pid)
}

var verbs = map[Kind]string{
	Running: "runs", Queued: "waits for a CPU", Timer: "sleeps", Disk: "waits for a disk",
}

// phrase returns "in slow_query of postgres (pid 9), which runs".
func (e *End) phrase() string {
	place := processName(e.Comm, e.PID)
	if e.Function != "" {
		place = e.Function + " of " + place
	}
	switch e.Kind {
	case Outside:
		if e.Why != "" {
			return "outside, at " + e.Why
		}
		if e.PID == several {
			return "outside, at " + place + ", which were not looked at"
		}
		return "outside, at " + place + ", which was not looked at"
	case Deadlock:
		return "in a deadlock at " + place
	case Unknown:
		if e.isKnown() {
			return "in " + place + ", " + e.Why
		}
		return "at " + place + ", not known: " + e.Why
	}
	return "in " + place + ", which " + verbs[e.Kind]
}

func (l *Link) text() string {
	text := processName(l.Comm, l.PID)
	if l.TID != 0 && l.TID != l.PID {
		text += fmt.Sprintf(", thread %d", l.TID)
	}
	if l.Task != 0 {
		text += fmt.Sprintf(", goroutine %d", l.Task)
	}
	if l.TaskName != "" {
		text += ", task " + l.TaskName
	}
	if l.Function != "" {
		text += ": " + l.Function
	}
	switch w := l.WaitsFor; {
	case w == nil || w.Kind == waits.NoWait:
	case w.Kind == waits.Stopped || w.Kind == waits.Frozen:
		text += " is " + string(w.Kind)
	default:
		text += " waits for " + object(w)
	}
	if l.Guess != "" {
		text += " [guess: " + l.Guess + "]"
	}
	return text
}

// object names what is waited for, equal for several connections to one server.
func object(w *waits.Wait) string {
	f := w.OnlyFile()
	if w.Kind == waits.Other && w.Symbol != "" {
		return w.Symbol
	}
	if w.Kind != waits.Descriptor || f == nil || f.Type != "socket" && f.Type != "pipe" {
		return w.Label()
	}
	text := f.Type
	if f.Remote != "" {
		text += " " + f.Remote
	} else if strings.HasPrefix(f.Path, "/") {
		text += " " + f.Path
	}
	if len(f.Peers) == 0 {
		return text + waits.Unfinished(f.State)
	}
	text += " of " + processName(f.Peers[0].Name, f.Peers[0].PID)
	if more := len(f.Peers) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + waits.Unfinished(f.State)
}

// minShare is the least share of a row, unless all are shown.
const minShare = 0.005

// Text writes the conclusion, then shares by end and by link, and the chains: at most rows of each, or all if rows is
// negative.
func (r *Report) Text(w io.Writer, rows int) error {
	out := printable.NewWriter(w)
	all, ends := fold(r.Chains), fold(r.Ends)
	for i := range all {
		all[i].countOnce()
	}
	links := r.through(all)
	out.Printf("%s\n", r.Conclusion)
	if r.Threads == 0 {
		return out.Err()
	}
	blocked := r.count("blocked ", r.Threads)
	if r.Blocked > 0 {
		blocked = "blocked " + tabular.Nanos(r.Blocked) + " in " + r.count("", r.Threads)
	}
	out.Printf("%s, without idle waits\n", blocked)
	table := func(title, noun string, n int, row func(i int) (share float64, lines []string)) {
		if n > 0 {
			out.Printf("\nshare  %s\n", title)
		}
		for i := range n {
			share, lines := row(i)
			if i > 0 && rows >= 0 && (i >= rows || share < minShare) {
				out.Printf("       and %s\n", tabular.Plural(int64(n-i), "more "+noun))
				return
			}
			out.Printf("%5s  %s\n", percent(share), lines[0])
			for _, line := range lines[1:] {
				out.Printf("         %s\n", line)
			}
		}
	}
	table("the chain ends", "end", len(ends), func(i int) (float64, []string) {
		return ends[i].Share, []string{ends[i].End.phrase()}
	})
	table("the chain passes through", "link", len(links), func(i int) (float64, []string) {
		return links[i].Share, []string{links[i].Link.text()}
	})
	table("chains", "chain", len(all), func(i int) (float64, []string) {
		c := &all[i]
		lines := []string{r.count("", c.Threads)}
		if c.Blocked > 0 {
			lines[0] += ", " + tabular.Nanos(c.Blocked)
		}
		for j := range c.Links {
			lines = append(lines, c.Links[j].text())
		}
		lines = append(lines, "→ "+c.End.phrase())
		for j := range c.Meanwhile {
			text := "  meanwhile " + c.Meanwhile[j].text()
			if c.Meanwhile[j].WaitsFor == nil {
				text += " runs"
			}
			lines = append(lines, text)
		}
		return r.share(c.weight()), lines
	})
	return out.Err()
}
