// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// sleeps adds a goroutine that waits in a function of the program.
func (r *recording) sleeps(function, wait, what string) *profile.Sample {
	s := r.addStack([]*profile.Location{r.location(function, "/srv/shop")}, 0, 1e9, 0, 0)
	labels(s, 7, 0, rec.LabelTask, languages.GoroutineTask, rec.LabelState, "sleeping", rec.LabelWait, wait)
	if what != "" {
		s.Label[rec.LabelWaitsFor] = []string{what}
	}
	return s
}

func TestAWaitNamesThePeerWithItsProcesses(t *testing.T) {
	r := newTimedRecording(10 * time.Second)
	r.mapping("/srv/shop")
	wants := map[string]string{
		"socket:[1] 127.0.0.1:3700 = [2] proxy (pid 9)":     "IO wait: 127.0.0.1:3700 = proxy (pid 9)",
		"socket:[3] 127.0.0.1:3700":                         "IO wait: 127.0.0.1:3700 = proxy (pid 9)", // listed later
		"socket:[4] 127.0.0.1:5432 = [5] postgres (pid 10)": "IO wait: 127.0.0.1:5432 = postgres (2 processes)",
		"socket:[6] 127.0.0.1:5432 = [7] postgres (pid 11)": "IO wait: 127.0.0.1:5432 = postgres (2 processes)",
		"socket:[8] 10.0.0.1:80":                            "IO wait: 10.0.0.1:80",
		"socket:[15] 10.0.0.1:80, not connected yet":        "IO wait: 10.0.0.1:80, not connected yet",
		"socket:[16] 127.0.0.1:80 = [0] app (pid 14)":       "IO wait: 127.0.0.1:80 = app (pid 14), not accepted yet",
		"socket:[9] = [10] dockerd (pid 12)":                "IO wait: socket of dockerd (pid 12)",
		"pipe:[11] = [11] cat (pid 13)":                     "IO wait: pipe of cat (pid 13)",
		"pipe:[17] = [17] sh (pid 7), sh (pid 20)":          "IO wait: pipe of sh (pid 20) or itself",
		"pipe:[18] = [18] me (pid 7), me (pid 7)":           "IO wait: pipe of me (pid 7)",
		"pipe:[12]": "IO wait: pipe",
		"socket:[13] 127.0.0.1:90 = [14] a (pid 1), c (pid 3), b (pid 2)": "IO wait: 127.0.0.1:90 = a (pid 1), b (pid 2), " +
			"1 other",
	}
	samples := map[string]*profile.Sample{}
	for what := range wants {
		samples[what] = r.sleeps("main.query", "IO wait", what)
	}
	for wait, want := range map[string]string{"read": "read: file", "openat": "openat: /run/log.fifo",
		"statx": "statx: /run/log.fifo"} {
		samples[wait], wants[wait] = r.sleeps("main.log", wait, "/run/log.fifo"), want
	}
	d := r.data(t, Options{})
	for what, want := range wants {
		if got := d.WaitName(samples[what]); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

func TestAResponseIsOfTheServersOfAllConnections(t *testing.T) {
	const a, b = "socket:[1] 127.0.0.1:80 = [2] api (pid 9)", "socket:[3] 10.0.0.1:81"
	for readers, want := range map[string]string{
		a:                  "select: a response of 127.0.0.1:80 = api (pid 9)",
		a + "\n" + b:       "select: a response of one of 10.0.0.1:81, 127.0.0.1:80 = api (pid 9)",
		a + "\nsocket:[5]": "select", // of a connection without a known peer
		"":                 "select",
	} {
		r := newTimedRecording(10 * time.Second)
		r.mapping("/srv/shop")
		for what := range strings.SplitSeq(readers, "\n") {
			r.sleeps(waits.HTTPReader, "IO wait", what)
		}
		s, other := r.sleeps(waits.HTTPRequest, "select", ""), r.sleeps("main.wait", "select", "")
		foreign := r.sleeps(waits.HTTPRequest, "select", "")
		foreign.NumLabel[rec.LabelPID] = []int64{8}
		pool := r.sleeps(waits.DatabasePool, "select", "")
		dials := r.sleeps("net.(*Resolver).lookupIPAddr", "select", "")
		dials.Location = append(dials.Location, pool.Location...)
		d := r.data(t, Options{})
		for s, want := range map[*profile.Sample]string{s: want, other: "select", foreign: "select",
			pool: "select: a free connection of the pool", dials: "select"} {
			if got := d.WaitName(s); got != want {
				t.Errorf("%q: %q, want %q", readers, got, want)
			}
		}
	}
}
