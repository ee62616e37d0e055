// SPDX-License-Identifier: Apache-2.0

package topologies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/chains"
	"prywalk/report"
)

// phase is one of a process, from one time to another, ns of Unix time.
type phase struct {
	process      int
	name         string
	begun, ended int64
}

// Written is what the processes of a service wrote down.
type Written []phase

// Written returns what the processes have written to a directory so far.
func (s *Service) Written(dir string) (w Written) {
	for i := range s.Phases {
		text, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		for line := range strings.Lines(string(text)) {
			p := phase{process: i}
			if n, _ := fmt.Sscan(line, &p.name, &p.begun, &p.ended); n == 3 && strings.HasSuffix(line, "\n") {
				w = append(w, p)
			}
		}
	}
	return w
}

// Requests returns when the requests of the first process have ended.
func (w Written) Requests() (ends []int64) {
	for _, p := range w {
		if p.process == 0 {
			ends = append(ends, p.ended)
		}
	}
	return ends
}

// lengths returns how long the phases lasted from one time to another, by process and name.
func (w Written) lengths(from, to int64) map[string]int64 {
	out := map[string]int64{}
	for _, p := range w {
		out[place(p.process, p.name)] += max(0, min(p.ended, to)-max(p.begun, from))
	}
	return out
}

func place(process int, function string) string { return fmt.Sprint(process, " ", function) }

// ChainsOf returns the chains of a recording as its report has them.
func ChainsOf(p *profile.Profile, o report.Options) (*chains.Report, error) {
	var text bytes.Buffer
	if err := report.Chains(&text, p, true, o); err != nil {
		return nil, err
	}
	r := &chains.Report{}
	return r, json.Unmarshal(text.Bytes(), r)
}

// Comparison is what a recording's report says of the first process's waits, beside what the processes wrote down.
type Comparison struct {
	Blocked int64 // in the report, ns
	// Ends and Links have the error of each share of the blocked time, by process and function. The end elsewhere has the
	// share of ends in no phase that is written down: all of it of phases' functions, of others what is beyond the time
	// between phases.
	Ends, Links map[string]float64
	// Unknown has the shares of ends that are not known, Others those in no phase, by their texts.
	Unknown, Others map[string]float64
	False           []string // links that are not the service's, deadlocks
}

// Compare compares a report's shares with what the processes wrote down from one time to another. pids are in the order
// of the service.
func (s *Service) Compare(r *chains.Report, pids []int, w Written, from, to int64) *Comparison {
	c := &Comparison{Ends: map[string]float64{}, Links: map[string]float64{}, Unknown: map[string]float64{},
		Others: map[string]float64{}}
	written, between, outside := w.lengths(from, to), int64(0), int64(0)
	for i := range r.Chains {
		chain := &r.Chains[i]
		c.False = append(c.False, falseLinks(chain, pids)...)
		if !isFirstCall(chain, pids) {
			continue // a thread of a run-time system, or of a later process
		}
		blocked := float64(chain.Blocked)
		c.Blocked += chain.Blocked
		switch end, text := endOf(chain, pids); {
		case chain.End.Kind == chains.Unknown:
			c.Unknown[text+": "+chain.End.Why] += blocked
		case isBetween(end):
			c.Others[text] += blocked
			between += chain.Blocked
		case written[end] == 0:
			c.Others[text] += blocked
			outside += chain.Blocked
		default:
			c.Ends[end] += blocked
		}
		for _, link := range passedThrough(chain, pids) {
			c.Links[link] += blocked
		}
	}
	for _, shares := range []map[string]float64{c.Ends, c.Links, c.Unknown, c.Others} {
		for key := range shares {
			shares[key] /= float64(max(1, c.Blocked))
		}
	}
	of := float64(max(1, c.Blocked))
	c.subtract(s, written, float64(between)/of, float64(outside)/of)
	return c
}

// isBetween reports whether a place is one where the stages are between phases, or run before and after a call's wait.
func isBetween(end string) bool {
	_, function, _ := strings.Cut(end, " ")
	return slices.Contains([]string{"call", "await_request", "awaitRequest", "await_mutex", "handle", "hold", "holder",
		"pthread_barrier_wait", "main", "<module>"}, function)
}

func (c *Comparison) subtract(s *Service, written map[string]int64, between, outside float64) {
	whole := float64(max(1, written["0 call"]))
	unwritten := 1.0
	for key, length := range written {
		if !strings.HasSuffix(key, " call") {
			c.Ends[key] -= float64(length) / whole
			unwritten -= float64(length) / whole
		}
	}
	c.Ends["elsewhere"] = outside + max(0, between-max(0, unwritten))
	for i := 1; i < len(s.Phases); i++ {
		if s.Mutex[i] {
			c.Links[place(i, "await_mutex")] -= float64(written[place(i-1, "call")]) / whole
		}
		if i < len(s.Links) {
			c.Links[place(i, "call")] -= float64(written[place(i, "call")]) / whole
		}
	}
}

// Worst returns the greatest error of an end or a link, in points, with its place.
func (c *Comparison) Worst() (place string, points float64) {
	for _, errors := range []map[string]float64{c.Ends, c.Links} {
		for _, key := range slices.Sorted(maps.Keys(errors)) {
			if math.Abs(errors[key]) > math.Abs(points)/100 {
				place, points = key, 100*errors[key]
			}
		}
	}
	return place, points
}

// Whole reports whether a dump has the whole chain of the first process's wait, as [Service.Stand] returned it, and
// which links are not the service's. got is the chain.
func Whole(r *chains.Report, pids []int, want string) (whole bool, got string, wrong []string) {
	for i := range r.Chains {
		chain := &r.Chains[i]
		if wrong = append(wrong, falseLinks(chain, pids)...); !isFirstCall(chain, pids) {
			continue
		}
		var links []string
		for j := range chain.Links {
			links = append(links, place(slices.Index(pids, chain.Links[j].PID), OwnName(chain.Links[j].Function)))
		}
		got = strings.Join(links, ", ") + ": " + string(chain.End.Kind)
		whole = whole || got == want
		got += strings.TrimSuffix(" "+chain.End.Why, " ")
	}
	return whole, got, wrong
}

func isFirstCall(c *chains.Chain, pids []int) bool {
	return c.Links[0].PID == pids[0] && OwnName(c.Links[0].Function) == "call"
}

// endOf returns the place of a chain's end, if a phase of that name ends in this way, and the end as text.
func endOf(c *chains.Chain, pids []int) (end, text string) {
	end = place(slices.Index(pids, c.End.PID), OwnName(c.End.Function))
	text = end + " " + string(c.End.Kind)
	switch {
	case c.End.Kind == chains.Running, c.End.Kind == chains.Queued:
	case c.End.Kind == chains.Timer && strings.HasSuffix(end, " nap"):
	default:
		end = ""
	}
	return end, text
}

// passedThrough returns the places of a chain between its first link and its end.
func passedThrough(c *chains.Chain, pids []int) (links []string) {
	for i := range c.Links {
		l := &c.Links[i]
		name := place(slices.Index(pids, l.PID), OwnName(l.Function))
		if i > 0 && (strings.HasSuffix(name, " call") || strings.HasSuffix(name, " await_mutex")) {
			links = append(links, name)
		}
	}
	return slices.Compact(links)
}

// falseLinks returns the links of a chain that are not the service's.
func falseLinks(chain *chains.Chain, pids []int) (list []string) {
	if chain.End.Kind == chains.Deadlock {
		list = append(list, "deadlock")
	}
	for j := range chain.Links {
		before, link := &chain.Links[max(0, j-1)], &chain.Links[j]
		from, to := slices.Index(pids, before.PID), slices.Index(pids, link.PID)
		if to < 0 || to-from > 1 || from-to > 1 {
			list = append(list, fmt.Sprintf("%d %s → %d %s", from, before.Function, to, link.Function))
		}
	}
	return list
}

// OwnName is a function's name without that of its package.
func OwnName(function string) string { return function[strings.LastIndexByte(function, '.')+1:] }
