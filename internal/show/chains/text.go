// SPDX-License-Identifier: Apache-2.0

package chains

import (
	"fmt"
	"io"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/walk/waits"
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
	if r.Threads == 0 {
		return out.Err()
	}
	blocked := tabular.Plural(int64(r.Threads), "blocked thread")
	if r.Blocked > 0 {
		blocked = "blocked " + tabular.Nanos(r.Blocked) + " in " + tabular.Plural(int64(r.Threads), "thread")
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
	table("the chain ends", "end", len(r.Ends), func(i int) (float64, []string) {
		return r.Ends[i].Share, []string{r.Ends[i].End.phrase()}
	})
	table("the chain passes through", "link", len(r.Links), func(i int) (float64, []string) {
		return r.Links[i].Share, []string{r.Links[i].Link.text()}
	})
	table("chains", "chain", len(r.Chains), func(i int) (float64, []string) {
		c := &r.Chains[i]
		lines := []string{tabular.Plural(int64(c.Threads), "thread")}
		if c.Blocked > 0 {
			lines[0] += ", " + tabular.Nanos(c.Blocked)
		}
		for j := range c.Links {
			lines = append(lines, c.Links[j].text())
		}
		return r.share(c.weight()), append(lines, "→ "+c.End.phrase())
	})
	return out.Err()
}
