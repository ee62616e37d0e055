// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"fmt"
	"io"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

func processName(comm string, pid int) string {
	if comm == "" {
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
		return "outside, at " + place + ", which was not looked at"
	case Deadlock:
		return "in a deadlock at " + place
	case Unknown:
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
	if l.Function != "" {
		text += ": " + l.Function
	}
	if w := l.WaitsFor; w != nil && w.Kind != waits.NoWait {
		text += " waits for " + object(w)
	}
	if l.Guess != "" {
		text += " [guess: " + l.Guess + "]"
	}
	return text
}

// object names what is waited for, equal for several connections to one server.
func object(w *waits.Wait) string {
	f := onlyFile(w)
	if w.Kind != waits.Descriptor || f == nil || f.Type != "socket" && f.Type != "pipe" {
		return w.Label()
	}
	text := f.Type
	if f.Remote != "" {
		text += " " + f.Remote
	}
	if len(f.Peers) == 0 {
		return text
	}
	text += " of " + processName(f.Peers[0].Name, f.Peers[0].PID)
	if more := len(f.Peers) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// minShare is the least share of a row, unless all are shown.
const minShare = 0.005

// Text writes the conclusion, then shares by end and by link, and the chains: at most rows of each; negative: all.
func (r *Report) Text(w io.Writer, rows int) error {
	out := printable.NewWriter(w)
	out.Printf("%s\n", r.Conclusion)
	if r.value == 0 {
		return out.Err()
	}
	blocked := tabular.Plural(int64(r.Threads), "blocked thread")
	if r.Blocked > 0 {
		blocked = "blocked " + tabular.Nanos(r.Blocked) + " in " + tabular.Plural(int64(r.Threads), "thread")
	}
	out.Printf("%s, without idle waits\n\nshare  the chain ends\n", blocked)
	limit := func(n int, share func(i int) float64) int {
		if rows < 0 {
			return n
		}
		shown := 0
		for shown < min(n, rows) && share(shown) >= minShare {
			shown++
		}
		return max(shown, min(n, 1))
	}
	more := func(n int, noun string) {
		if n > 0 {
			out.Printf("       and %s\n", tabular.Plural(int64(n), noun))
		}
	}
	ends := limit(len(r.Ends), func(i int) float64 { return r.Ends[i].Share })
	for i := range r.Ends[:ends] {
		out.Printf("%5s  %s\n", percent(r.Ends[i].Share), r.Ends[i].End.phrase())
	}
	more(len(r.Ends)-ends, "more end")
	if len(r.Links) > 0 {
		out.Printf("\nshare  the chain passes through\n")
	}
	links := limit(len(r.Links), func(i int) float64 { return r.Links[i].Share })
	for i := range r.Links[:links] {
		out.Printf("%5s  %s\n", percent(r.Links[i].Share), r.Links[i].Link.text())
	}
	more(len(r.Links)-links, "more link")
	out.Printf("\nshare  chains\n")
	share := func(i int) float64 { return float64(r.Chains[i].value) / float64(r.value) }
	all := limit(len(r.Chains), share)
	for i := range r.Chains[:all] {
		c := &r.Chains[i]
		size := tabular.Plural(int64(c.Threads), "thread")
		if c.Blocked > 0 {
			size += ", " + tabular.Nanos(c.Blocked)
		}
		out.Printf("%5s  %s\n", percent(share(i)), size)
		for j := range c.Links {
			out.Printf("         %s\n", c.Links[j].text())
		}
		out.Printf("         → %s\n", c.End.phrase())
	}
	more(len(r.Chains)-all, "more chain")
	return out.Err()
}
