// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/filememory"
	rec "prywalk/internal/profile"
)

func wild(samples, depth, lines, functions int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, TimeNanos: 1}
	for i := range functions {
		name := fmt.Sprint("function_", i)
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name})
	}
	for i := range functions {
		l := &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1)}
		for j := range lines {
			l.Line = append(l.Line, profile.Line{Function: p.Function[(i+j)%functions], Line: int64(j + 1)})
		}
		p.Location = append(p.Location, l)
	}
	x := uint32(1)
	for i := range samples {
		s := &profile.Sample{Value: []int64{1e7}, NumLabel: map[string][]int64{"tid": {int64(i)}}}
		for range depth {
			x = x*1664525 + 1013904223
			s.Location = append(s.Location, p.Location[int(x>>8)%functions])
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func total(t *testing.T, bytes int64) {
	filememory.Process().SetTotal(bytes)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
}

func TestPagesAreRefusedThatTheBudgetHasNoRoomFor(t *testing.T) {
	total(t, 64<<20)
	if _, err := pages("localhost:1", wild(1000, 100, 2, 100), Options{Log: io.Discard}); err == nil ||
		!strings.Contains(err.Error(), "--max-memory") || strings.Contains(err.Error(), "\n") {
		t.Errorf("all pages: %v", err)
	}
	p := wild(300, 100, 1, 100)
	total(t, 2*costOf(p)*3/2)
	all, err := pages("localhost:1", p, Options{Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/flamegraph": http.StatusOK, "/peek": http.StatusInsufficientStorage,
		"/graph": http.StatusInsufficientStorage} {
		w := httptest.NewRecorder()
		all[path].ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || want != http.StatusOK && !strings.Contains(w.Body.String(), "--max-memory") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
	if n := filememory.Process().Used(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// Peak memory cannot be read: the page's garbage is the bound.
func TestPagesTakeNoMoreThanIsTakenForThem(t *testing.T) {
	for _, c := range []struct{ samples, depth, lines, functions int }{
		{1000, 50, 1, 300}, {5, 2000, 1, 1000}, {1, 100, 100, 100}, {10000, 5, 1, 1000},
	} {
		p := wild(c.samples, c.depth, c.lines, c.functions)
		all, err := pages("localhost:1", p, Options{Log: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/flamegraph", "/top", "/peek", "/download", "/top?g=addresses"} {
			cost := costOf(p)
			page, _, _ := strings.Cut(path, "?")
			if page != "/flamegraph" {
				cost *= otherPages
			}
			const garbage = 3
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			all[page].ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
			runtime.ReadMemStats(&after)
			got := int64(after.TotalAlloc - before.TotalAlloc)
			if got > garbage*cost {
				t.Errorf("%+v %s: %d bytes, %d are taken for it", c, path, got, cost)
			}
		}
	}
}

// sleep stands for dot.
func TestGraphThatTakesTooLongIsGivenUp(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := exec.Command("sleep", "1000").Run(); err != nil {
			http.Error(w, "dot failed", http.StatusNotImplemented)
		}
	})
	w := httptest.NewRecorder()
	withinLimit(w, httptest.NewRequest(http.MethodGet, "/graph", nil), page, 50*time.Millisecond)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "flame graph") ||
		strings.Contains(w.Body.String(), "failed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	withinLimit(w, httptest.NewRequest(http.MethodGet, "/graph", nil),
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "drawn") }), time.Hour)
	if w.Code != http.StatusOK || w.Body.String() != "drawn" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestSamplesThatDifferInTimeOnlyAreOne(t *testing.T) {
	p := wild(3, 1, 1, 1)
	for i, s := range p.Sample {
		s.NumLabel = map[string][]int64{"tid": {1}, rec.LabelEnd: {int64(i)}}
	}
	p, err := mergeTimes(p)
	if err != nil || len(p.Sample) != 1 || p.Sample[0].Value[0] != 3e7 {
		t.Errorf("%v %v", p, err)
	}
}
