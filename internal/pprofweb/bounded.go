// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/budget"
	"prywalk/internal/process"
)

// # How much pages may take
//
// pprof makes each page from a copy of the profile, with maps for each frame of each sample. What a page takes was
// measured with profiles of many shapes. It is taken from the process's budget before the page is made, and one page
// is made at a time. The graph is drawn by a program, dot, which can take hours for 80 functions that all call each
// other.

const (
	// frameCost is what the flame graph takes for each frame, in bytes; otherPages is how many times as much the others
	// take.
	frameCost  = 700
	otherPages = 2
	// labelEnd is the label that has a sample's time.
	labelEnd = "end_timestamp_ns"
	// graphLimit is how long the program dot may draw.
	graphLimit = 30 * time.Second
	// endAgain is after how long it is ended once more: it may not have been started yet.
	endAgain = 100 * time.Millisecond
)

// merged makes one sample of those that differ in their time only, which no page shows. The profile is the caller's no
// more.
func merged(p *profile.Profile) (*profile.Profile, error) {
	for _, s := range p.Sample {
		delete(s.NumLabel, labelEnd)
		delete(s.NumUnit, labelEnd)
	}
	return profile.Merge([]*profile.Profile{p})
}

// costOf gives what the flame graph of a profile takes, in bytes.
func costOf(p *profile.Profile) int64 {
	lines := func(all []*profile.Location) (n int64) {
		for _, l := range all {
			n += int64(1 + len(l.Line))
		}
		return n
	}
	n := 2 * lines(p.Location)
	for _, s := range p.Sample {
		n += 1 + lines(s.Location)
	}
	return n * frameCost
}

// oneAtATime makes pages in turn, each if the budget has room for it.
type oneAtATime struct {
	mu   sync.Mutex
	cost int64 // of the flame graph
}

// bounded gives the page at a path with that bound.
func (o *oneAtATime) bounded(path string, page http.Handler) http.Handler {
	cost := o.cost
	if path != "/flamegraph" {
		cost *= otherPages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		memory := budget.Process().Whole("the page " + path)
		defer memory.Close()
		if err := memory.Take(cost, "contents"); err != nil {
			http.Error(w, "prywalk: "+err.Error(), http.StatusInsufficientStorage)
			return
		}
		if path != "/graph" {
			page.ServeHTTP(w, r)
			return
		}
		withinLimit(w, r, page, graphLimit)
	})
}

// withinLimit makes a page, and ends the programs that it has started if that takes too long.
func withinLimit(w http.ResponseWriter, r *http.Request, page http.Handler, limit time.Duration) {
	answer := &untilLate{ResponseWriter: w}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for wait := limit; ; wait = endAgain {
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			answer.late.Store(true)
			endDrawing()
		}
	}()
	defer func() { // before the next page starts a program
		close(done)
		<-ended
	}()
	page.ServeHTTP(answer, r)
	if answer.late.Load() && !answer.begun {
		http.Error(w, "prywalk: dot takes longer than "+limit.String()+" to draw this graph: too many functions call "+
			"each other; look at the flame graph, or ask for fewer nodes (?n=20).", http.StatusServiceUnavailable)
	}
}

// untilLate is an answer that is dropped if it begins too late.
type untilLate struct {
	http.ResponseWriter
	late  atomic.Bool
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (u *untilLate) WriteHeader(status int) {
	if u.begun = u.begun || !u.late.Load(); u.begun {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (u *untilLate) Write(b []byte) (int, error) {
	if u.begun = u.begun || !u.late.Load(); !u.begun {
		return len(b), nil
	}
	return u.ResponseWriter.Write(b)
}

// endDrawing ends dot. The command that serves pages starts no other program.
func endDrawing() {
	for _, child := range process.Children(os.Getpid()) {
		_ = syscall.Kill(child, syscall.SIGKILL) // it is not reaped yet, or its number is nobody's
	}
}
